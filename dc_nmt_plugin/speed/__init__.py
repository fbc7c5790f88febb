"""What is here for speed alone. Each function has a plain twin in the tests, which it equals.

These files know torch's and fairseq's optimizers, trainers and generators; the equations in
:mod:`..modules` do not know these files.
"""
