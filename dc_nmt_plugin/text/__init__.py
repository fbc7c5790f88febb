"""Text: its lines, their checks and tokenisation, and a corpus that is made up."""
