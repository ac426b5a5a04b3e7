"""Command-line interface: one module for each command, and modules that they share.

NumPy, numba and pandas are imported inside the functions of the commands, so that ``pfbench
--help`` starts quickly.
"""
