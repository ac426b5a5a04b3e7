"""Every method of the catalogue, compared with its reference and its published schedule.

A file for each family, as `pfbench/algorithms/` has them, states the schedules.
"""

from pfbench.claims.methods import every, faults
from pfbench.verification.claim import Paper

PAPER = Paper.of("methods", "The methods as their sources state them", (every, faults))
