"""Worst cases of methods by performance estimation, to compare with published bounds and runs.

They need the packages of the extra `certify`: PEPit, cvxpy and Clarabel.
"""
