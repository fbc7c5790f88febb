"""Published tasks, scores and parameter counts as data, and their readers."""
