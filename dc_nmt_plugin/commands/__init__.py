"""One file a command of ``dc-nmt``: its arguments and what it prints."""
