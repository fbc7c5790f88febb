"""From raw text to a scored table: the commands of ``dc-nmt`` and what they need."""
