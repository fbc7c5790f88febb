"""What is let in: a command's flags and its data, checked before fairseq starts; and what
fairseq's exceptions mean to a user."""
