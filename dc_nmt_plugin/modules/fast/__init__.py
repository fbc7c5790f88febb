"""What is here for speed alone. Each function has a plain twin in the tests, which it equals.

These files import nothing of the package. An equation's file calls each in one line.
"""
