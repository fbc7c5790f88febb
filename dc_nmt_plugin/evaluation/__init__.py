"""What comes out of trained models: scores, their significance, speeds, tables of runs."""
