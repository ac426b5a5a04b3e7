"""ASVRG, Katyusha^ns and RSAG, with and without a set or penalty."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from pfbench.base.constants import Constants
from pfbench.base.counts import Counts
from pfbench.claims.methods.estimates import each_step, own_output, with_reference
from pfbench.claims.methods.iterates import COMPOSITE, SMOOTH, Kind
from pfbench.claims.methods.schedules import CONSTANTS, WANTED, Printed, beside, least, smoothness
from pfbench.claims.methods.stating import claims_of
from pfbench.verification import Floats, Instance
from pfbench.verification.instruments.waves import Waves
from pfbench.verification.laws import Formed, Method, Place, Setting, Told, Wanted, setting
from pfbench.verification.laws.method import Outputs, Parameters, Referee


def from_snapshot(problem: Waves, s: Parameters, x: Floats, snapshot: Floats) -> Formed:
    """Return the SVRG estimate at x with the full gradient at a snapshot."""
    return Formed(at=x, batch=s["batch"], against=snapshot, known=problem.gradient(snapshot))


def in_epochs(s: Parameters, n: int, *, po: int) -> tuple[Counts, ...]:
    """Return SFO n ceil(T/m) + 2bT; po is what a step costs of them, one less with option 2."""
    maps = po - 1 if po and s.get("option") == 2 else po
    return each_step(s, n, of=partial(with_reference, at_snapshot=True), po=maps)[:1]


# --- ASVRG ------------------------------------------------------------------------------------


def asvrg(problem: Waves, s: Parameters, told: Sequence[Told]) -> Iterator[Place]:
    """Yield the places of y+ = prox(y - (eta/w) g), x+ = x~ + w (y+ - x~); x~ is the epoch's mean.

    w begins at 1 - tau L eta/(1 - L eta) with tau = (n-b)/(b(n-1)), L eta at most 1/3; after
    an epoch it is (sqrt(w^4 + 4 w^2) - w^2)/2, and the next begins at (1-w) x~ + w y.
    """
    n, b, eta, m = problem.n, s["batch"], s["step"], s["period"]
    size = min(s.get("smoothness", math.inf) * eta, 1.0 / 3.0)
    w = 1.0 - max(n - b, 0) / (b * max(n - 1, 1)) * size / (1.0 - size)
    snapshot, y = problem.start(), problem.start()
    points: list[Floats] = []
    for t, one in enumerate(told):
        if t % m == 0:
            if t > 0:
                snapshot = np.mean(points, axis=0)
                w = (math.sqrt(w**4 + 4.0 * w**2) - w**2) / 2.0
            x, points = (1.0 - w) * snapshot + w * y, []
        formed = from_snapshot(problem, s, x, snapshot)
        y = problem.prox(y, one.estimate, eta / w)
        x = (1.0 - w) * snapshot + w * y
        points.append(x)
        whole = t % m == m - 1
        yield Place(formed=formed, x=x, output=np.mean(points, axis=0) if whole else snapshot)


# --- Katyusha ---------------------------------------------------------------------------------


def katyusha(problem: Waves, s: Parameters, told: Sequence[Told]) -> Iterator[Place]:
    """Yield the places of z+ = prox(z - (eta/tau) g) and y+, prox(x - eta g) or x + tau (z+ - z).

    x = tau z + x~/2 + (1/2 - tau) y with tau = 2/(s+4) in epoch s = 0, 1, ...; x~ is the mean of
    the y+ of the epoch before.
    """
    m, eta = s["period"], s["step"]
    snapshot, y, z = problem.start(), problem.start(), problem.start()
    points: list[Floats] = []
    for t, one in enumerate(told):
        tau = 2.0 / (t // m + 4.0)
        if t % m == 0:
            if t > 0:
                snapshot = np.mean(points, axis=0)
            points = []
        x = tau * z + 0.5 * snapshot + (0.5 - tau) * y
        formed = from_snapshot(problem, s, x, snapshot)
        after = problem.prox(z, one.estimate, eta / tau)
        first = s.get("option", 1) == 1
        y = problem.prox(x, one.estimate, eta) if first else x + tau * (after - z)
        z = after
        points.append(y)
        whole = t % m == m - 1
        yield Place(formed=formed, x=y, output=np.mean(points, axis=0) if whole else snapshot)


# --- RSAG -------------------------------------------------------------------------------------


def rsag(problem: Waves, s: Parameters, told: Sequence[Told]) -> Iterator[Place]:
    """Yield the places of x+ = prox(x - lambda G), ag+ = prox(md - beta G), G at md.

    md = (1 - alpha) ag + alpha x with alpha = 2/(k+1), k = 1, 2, ...; lambda = (1 + alpha/4) beta,
    or k beta/2 with the momentum of the convex case. A batch of n is all of them, without a draw.
    """
    beta, b = s["step"], s["batch"]
    x, ag = problem.start(), problem.start()
    for k, one in enumerate(told, 1):
        alpha = 2.0 / (k + 1.0)
        md = (1.0 - alpha) * ag + alpha * x
        convex = s.get("momentum", "nonconvex") == "convex"
        lam = k * beta / 2.0 if convex else (1.0 + alpha / 4.0) * beta
        formed = Formed(at=md, batch=None if b == problem.n else b)
        x = problem.prox(x, one.estimate, lam)
        yield Place(formed=formed, x=problem.prox(md, one.estimate, beta))
        ag = one.x


def of_batches(s: Parameters, n: int, *, po: int) -> tuple[Counts, ...]:
    """Return SFO bT."""
    T = s["iterations"]
    return (Counts(fo=T if s["batch"] == n else 0, sfo=s["batch"] * T, po=po * T),)


def of_rsag(asked: Wanted) -> Printed:
    """Return 6 L h0/N <= epsilon with b = n and beta = 1/(2L), the deterministic case."""
    epsilon, c, L = asked.epsilon, asked.constants, smoothness(asked)
    return {"iterations": 6.0 * L * c.delta / epsilon, "step": 0.5 / L, "batch": c.n}


def of_prox_rsag(asked: Wanted) -> Printed:
    """Return the least N with `on_bounded_set` at most epsilon, b = n, beta = 1/(2L)."""
    N = least(partial(on_bounded_set, asked.constants), asked.epsilon)
    return {"iterations": N, "step": 0.5 / smoothness(asked), "batch": asked.constants.n}


def on_bounded_set(c: Constants, N: float) -> float:
    """Return the bound of qu2018 theorem 1 with exact proximal maps.

    192 L^2 D^2/(N^2 (N+1)) + 144 ell L M^2/N.
    """
    L = max(c.L_f, c.L_ms)
    return 192.0 * (L * c.D) ** 2 / (N**2 * (N + 1.0)) + 144.0 * c.ell * L * c.M**2 / N


# --- the methods ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Family:
    """What the smooth and the proximal form of a method have in common.

    Attributes
    ----------
    referee, counts, outputs
        See `Method`; counts take the proximal maps of a step.
    po
        The proximal maps of a step.
    periodic
        Whether it has epochs.
    variants
        Parameters of its own, of the runs that are followed and counted.
    chosen
        The same of those whose output is compared.
    """

    referee: Referee
    counts: Callable[..., tuple[Counts, ...]]
    po: int
    periodic: bool
    variants: tuple[Parameters, Parameters]
    chosen: tuple[Parameters, ...]
    outputs: Outputs | None = None

    def stated(self, name: str, source: str, kind: Kind) -> Method:
        """Return what the source says of one of the two forms, `SMOOTH` or `COMPOSITE`."""
        first = kind.followed[0]
        sizes = ((1, 2, 5), (2, 2, 3)) if self.periodic else ((2, 0, 2), (1, 0, 4))
        counted = zip(((3, 4, 10), (9, 3, 7), (7, 1, 3)), (*self.variants, {}), strict=True)
        return Method(
            name=name,
            source=source,
            referee=self.referee,
            counts=partial(self.counts, po=kind.po * self.po),
            enumerated=(
                *(self._setting(first, *size) for size in sizes),
                self._setting(first.two, 2, 2, 3),  # batch = n
            ),
            followed=tuple(
                self._setting(problem, S, 3, 8, **given)
                for problem in kind.followed
                for S, given in zip((2, 1), self.variants, strict=True)
            ),
            counted=tuple(self._setting(first.seven, *size, **given) for size, given in counted),
            chosen=(
                *(
                    self._setting(first.one, 1, 3, T, **given)
                    for T in (8, 21)
                    for given in self.chosen
                ),
                self._setting(first.two, 1, 2, 4, **self.chosen[0]),
            ),
            outputs=self.outputs,
        )

    def _setting(self, problem: Instance, S: int, p: int, T: int, **given: Any) -> Setting:
        period = {"period": p} if self.periodic else {}
        return setting(problem, step=0.3, batch=S, iterations=T, **period, **given)


SMOOTHNESS: tuple[Parameters, Parameters] = ({}, {"smoothness": 0.4})
OPTIONS: tuple[Parameters, Parameters] = ({}, {"option": 2})
MOMENTA: tuple[Parameters, Parameters] = ({}, {"momentum": "convex"})
OUTPUTS = tuple({"output": output} for output in ("last", "uniform", "weighted"))

ASVRG = Family(asvrg, in_epochs, 1, True, SMOOTHNESS, SMOOTHNESS, own_output)
KATYUSHA = Family(katyusha, in_epochs, 2, True, OPTIONS, OPTIONS, own_output)
RSAG = Family(rsag, of_batches, 2, False, MOMENTA, OUTPUTS)

OF_ASVRG = "Shang, Jiao, Zhou, Cheng et al., ACML 2018, algorithm 2"
OF_KATYUSHA = "Allen-Zhu, JMLR 2018, Katyusha^ns"
OF_RSAG = "Ghadimi & Lan, Math. Prog. 2016; qu2018 algorithm 3, theorem 1; wang2019 (3)"

METHODS = (
    ASVRG.stated("asvrg", OF_ASVRG, SMOOTH),
    ASVRG.stated("prox-asvrg", OF_ASVRG, COMPOSITE),
    KATYUSHA.stated("katyusha-ns", OF_KATYUSHA, SMOOTH),
    KATYUSHA.stated("prox-katyusha-ns", OF_KATYUSHA, COMPOSITE),
    replace(
        RSAG.stated("rsag", OF_RSAG, SMOOTH),
        schedules=WANTED,
        schedule=of_rsag,
        whose="Ghadimi & Lan 2016, the deterministic case; b = n is of pfbench",
    ),
    replace(
        RSAG.stated("prox-rsag", OF_RSAG, COMPOSITE),
        schedules=tuple(
            Wanted(epsilon, c)
            for c in CONSTANTS
            for epsilon in (4.0, 0.4, *beside(partial(on_bounded_set, c)))
        ),
        schedule=of_prox_rsag,
        whose="the bound of qu2018 theorem 1, option II, with exact proximal maps, not of its own "
        "source; b = n, and D and M for its norms, are of pfbench",
    ),
)

CLAIMS = claims_of(*METHODS)
