"""Parts of the task that change the speed alone; each has a plain twin in fairseq and its tests."""
