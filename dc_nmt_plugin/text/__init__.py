"""Text: lines, checks, tokenisation, and a generated corpus."""
