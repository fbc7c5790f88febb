"""Tables and figures of the papers made again: which runs they need, what comes out."""
