"""Every method of the catalogue held to what its own source says of it, step by step.

A file for each family, as `pfbench/algorithms/` has them; `stating.py` has what they share.
"""

from pfbench.claims.methods import faults, nfwu, proximal
from pfbench.verification.claim import Paper

PAPER = Paper.of("methods", "The methods as their sources state them", (nfwu, proximal, faults))
