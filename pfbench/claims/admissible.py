"""Generated faults that keep the theorem of their method, each with one line of proof.

A fault that changes a number that a theorem prints (a count, a parameter of its schedule) is never
admissible. A condg that stops at a smaller gap than eta changes no such number, as the source
requires only a gap of at most eta.
"""

from pfbench.verification.faults.fault import AdmissibleFault

_BATCH = (
    "the batch enters each theorem by its mean and mean square only, and without replacement the "
    "mean of a sample has (n-S)/(n-1) times the variance (Cochran 1977, theorem 2.2)"
)

_DRAWS = (
    *("Estimator.draw", "EpochEstimator.reference_gradient", "StochasticNCGS.run", "ProxASVRG.run"),
    *(
        "ProxKatyushaNS.run",
        "ProxRSAG.run",
        "Natasha15.run",
        "draw_batch",
        "AveragingEstimator.first_estimate",
    ),
)
"""Lines that draw batches."""

_ONE_OPTION = (
    "without a set prox(x, g, eta) = x - eta g = x + tau (z+ - z) with z+ = z - (eta/tau) g, so "
    "that both options are the same, up to rounding (Allen-Zhu 2018, Katyusha^ns)"
)

_STOP = (
    "the source requires of condg a gap of at most eta, so eta/2 is allowed; the number of LO, at "
    "most 1 + 6 D^2/(lambda eta) (Jaggi 2013, theorem 2), at most doubles, and only its order is "
    "printed; methods-count reports the additional LO"
)

_STEP = (
    "li2019 requires only that Frank-Wolfe reaches a gap of eta; a step xi = a xi* with a in [1/2, "
    "1], xi* that of exact line search, decreases phi by (2a - a^2) >= 3/4 of the decrease of xi*, "
    "or by 3/8 of the gap where xi* = 1; (14) states the number of LO in order only"
)

_OPTION = (
    "theorem 3 holds for an output drawn uniformly; output=weighted is an option of pfbench that "
    "no theorem covers"
)

_LI = frozenset({"cgs", "storc"})
_QU = frozenset({"ncgs", "ncgs-stochastic", "ncgs-vr"})

_STRICTER = (
    (_LI, "CGS.eta", "constant", "D2 = 2.0 * self.delta"),
    (_LI, "CGS.eta", "factor", "D2 = (0.5 * "),
    (_LI, "CGS.eta", "constant", "return 1.0 * self.smoothness"),
    (_LI, "CGS.eta", "factor", "return (0.5 * "),
    (_LI, "CGS.run", "factor", "(0.5 * self.eta(t, k))"),
    (_LI, "CGS.run", "late-factor", "(0.5 * self.eta(t, k) if "),
    (_QU, "SlidingMethod.eta", "constant", "return 0.5 / self.iterations"),
    (_QU, "SlidingMethod.eta", "factor", "return (0.5 * (1.0 / self.iterations))"),
    *(
        (_QU, function, *change)
        for function in ("NCGS.run", "StochasticNCGS.run", "NCGSVR.move")
        for change in (("factor", "(0.5 * self.eta)"), ("late-factor", "(0.5 * self.eta if "))
    ),
    (frozenset({"ncgs-spider"}), "NCGSSpider.move", "factor", "(0.5 * self.eta)"),
    (frozenset({"ncgs-spider"}), "NCGSSpider.move", "late-factor", "(0.5 * self.eta if "),
    (frozenset({"cgs-convex"}), "ConvexCGS.run", "term", "(k * ((2.0 * k + 1.0)))"),
    (frozenset({"cgs-convex"}), "ConvexCGS.run", "constant", "/ (k * (k + 2.0)))"),
)
"""Stopping rules of condg at a gap of eta/2, or between eta/2 and eta."""

_SHORTER = (
    ("factor", "xi = min(1.0, (0.5 * "),
    ("late-factor", "xi = min(1.0, (0.5 * "),
    ("constant", "xi = min(0.5, "),
    ("late-constant", "xi = min((0.5 if "),
    ("factor", "combine(x, v, (0.5 * xi))"),
    ("late-factor", "combine(x, v, (0.5 * xi if "),
)
"""Step rules of condg between half and all of the exact line search's step."""

ADMISSIBLE = (
    *(
        AdmissibleFault(operator="without-replacement", function=draw, reason=_BATCH)
        for draw in _DRAWS
    ),
    *(
        AdmissibleFault(
            methods=source, operator=kind, function=location, replacement=after, reason=_STOP
        )
        for source, location, kind, after in _STRICTER
    ),
    *(
        AdmissibleFault(
            methods=_LI, operator=kind, function="condg", replacement=after, reason=_STEP
        )
        for kind, after in _SHORTER
    ),
    *(
        AdmissibleFault(
            methods=frozenset({"ncgs-vr"}),
            operator=kind,
            function="SlidingMethod.output_weight",
            reason=_OPTION,
        )
        for kind in ("term", "sign", "constant")
    ),
    AdmissibleFault(
        methods=frozenset({"katyusha-ns"}),
        operator="late-compare",
        function="ProxKatyushaNS.run",
        replacement="shift(x, z, before, tau) if self.option == 1 else ask.prox(x, g, self.step)",
        reason=_ONE_OPTION,
    ),
)
"""All admissible faults."""
