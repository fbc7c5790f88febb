"""What the mechanisms record, reduced to the numbers that their papers look at."""
