"""The command line: one module for each verb, and what they share.

NumPy, numba and pandas are imported inside the verbs, so that ``pfbench --help`` is quick.
"""
