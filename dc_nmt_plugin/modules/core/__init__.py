"""Parts that several mechanisms share; imports none of the mechanisms."""
