"""Polar Express: the best odd polynomials one after the other, and the lists of triples in use.

Theorems 4.1 and 4.3 were read, with their proofs, in copies made by machine. The lists in use are
not the polynomials of the theorems, as their triples are divided by a safety factor. pfbench states
intervals of singular values for them.
"""

from pfbench.verification.paper_tables import read_listed_paper

PAPER = read_listed_paper(__name__)
