"""What is here for speed alone. Each function has a plain twin in the tests, which it equals.

Tests: ``tests/unit/speed``, ``tests/model/test_graphs.py``. These files know the optimizers,
trainers and generators of torch and fairseq; the equations in :mod:`..modules` do not know them.
"""
