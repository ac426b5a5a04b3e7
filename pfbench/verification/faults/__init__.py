"""Faults generated from the source of a method.

`generate` makes them by the operators of `operators`, `compiled` compiles one apart, `equivalence`
says whether it changes anything. `fault_study`, above, holds them to claims.
"""
