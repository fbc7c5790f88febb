"""What is installed here, and how to mend what is not."""
