"""Faults generated from the source of a method.

`generate` applies the operators of `mutation_operators` and `late`, `mutant_compilation` compiles a
faulty variant, and `equivalence` finds out whether a fault changes anything. `mutation_study`, in
the package above, checks claims on the faults.
"""
