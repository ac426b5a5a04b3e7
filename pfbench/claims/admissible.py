"""Generated faults that keep the theorem of their method, each with the line of proof.

What changes a number that a theorem prints (a count, a parameter of its schedule) is never here.
"""

from pfbench.verification.faults.admissible import Admissible

_BATCH = (
    "the batch enters each theorem by its mean and mean square only, and without replacement the "
    "mean of a sample has (n-S)/(n-1) times the variance (Cochran 1977, theorem 2.2)"
)

_ONE_OPTION = (
    "without a set prox(x, g, eta) = x - eta g = x + tau (z+ - z) with z+ = z - (eta/tau) g, so "
    "that both options are one, up to rounding (Allen-Zhu 2018, Katyusha^ns)"
)

ADMISSIBLE = (
    Admissible(operator="without-replacement", function="Estimator.draw", because=_BATCH),
    Admissible(operator="without-replacement", function="EpochEstimator.reference", because=_BATCH),
    Admissible(operator="without-replacement", function="StochasticNCGS.run", because=_BATCH),
    Admissible(operator="without-replacement", function="ProxASVRG.run", because=_BATCH),
    Admissible(operator="without-replacement", function="ProxKatyushaNS.run", because=_BATCH),
    Admissible(operator="without-replacement", function="ProxRSAG.run", because=_BATCH),
    Admissible(operator="without-replacement", function="Natasha15.run", because=_BATCH),
    Admissible(operator="without-replacement", function="draw", because=_BATCH),
    Admissible(
        methods=frozenset({"katyusha-ns"}),
        operator="late-compare",
        function="ProxKatyushaNS.run",
        after="shift(x, z, before, tau) if self.option == 1 else ask.prox(x, g, self.step)",
        because=_ONE_OPTION,
    ),
)
"""All of them."""
