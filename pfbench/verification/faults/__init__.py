"""Faults generated from the source of a method, and which of them its claims notice.

`generate` makes them by the operators of `operators`, `compiled` compiles one apart, `equivalence`
says whether it changes anything, `study` holds it to claims, `report` tells what became of it.
"""
