"""The commands of ``dc-nmt`` for papers and analyses, one file each."""
