"""Accelerated baselines of wang2019: ASVRG, Katyusha^ns, RSAG, and their proximal forms.

ASVRG and Katyusha have theory for convex f only; on non-convex losses they are heuristics.
"""

import math
from collections.abc import Iterator
from dataclasses import MISSING, dataclass
from typing import Any, Self

import numpy as np

from pfbench.algorithms.base import Algorithm, round_up, smallest_integer
from pfbench.algorithms.guarantee import gradient_square_guarantee, mapping_square_guarantee
from pfbench.algorithms.proximal import COMPOSITE, SMOOTH
from pfbench.base.constants import Constants
from pfbench.base.parameters import integer, one_of_values, parameter, positive
from pfbench.base.protocols import AlgorithmOracles
from pfbench.base.state import Point, State
from pfbench.points import combine, keep, shift


@dataclass(frozen=True, kw_only=True)
class AcceleratedMethod(Algorithm):
    """Base class of ASVRG, Katyusha^ns and RSAG, with their common parameters."""

    anytime = True

    iterations: int = integer(MISSING, "T, inner iterations")
    batch: int = integer(MISSING, "b")
    step: float = positive(MISSING, "eta (katyusha: 1/(3L); rsag: beta)")


@dataclass(frozen=True, kw_only=True)
class ProxASVRG(AcceleratedMethod):
    """Accelerated proximal SVRG (theory for convex f).

    Accelerated proximal SVRG for convex f (algorithm 2 of its source).

    mu = grad f(x~);  each inner step, with weight w:
        g = mean over S of [grad f_i(x) - grad f_i(x~)] + mu
        y = prox_{(eta/w) h}(y - (eta/w) g),   x = x~ + w (y - x~)
    x~ = average of the epoch's x;  w = (sqrt(w^4 + 4 w^2) - w^2)/2;  x = (1-w) x~ + w y
    """

    name = "prox-asvrg"
    source = "Shang, Jiao, Zhou, Cheng et al., ACML 2018, algorithm 2"
    counts = "T iterations: FO ceil(T/m), SFO n ceil(T/m) + 2bT, PO T"
    requires = frozenset({"gradient", "difference"}) | COMPOSITE
    assumes = frozenset({"convex"})
    constant_defaults = (("smoothness", "L_max"),)

    period: int = integer(MISSING, "m, iterations between full gradients")
    smoothness: float | None = positive(None, "L of the first weight, at least 1/2 for every L")

    def first_weight(self, n: int) -> float:
        """Return w_0, the value of the weight w in the first epoch of the class's pseudo-code.

        w_0 = 1 - tau L eta/(1 - L eta), where tau = (n-b)/(b(n-1)). L is the smoothness, but at
        most 1/(3 eta).
        """
        product = min((self.smoothness or math.inf) * self.step, 1.0 / 3.0)
        tau = max(n - self.batch, 0) / (self.batch * max(n - 1, 1))
        return 1.0 - tau * product / (1.0 - product)

    def run(self, ask: AlgorithmOracles, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """Start at x, and yield a state after each update; see the class's pseudo-code."""
        w = self.first_weight(ask.n)
        snapshot, y = keep(x), keep(x)
        for t in range(self.iterations):
            j = t % self.period
            if j == 0:
                mean, average = ask.gradient(snapshot), None
                snapshot = keep(snapshot)
                x = combine(snapshot, y, w)
            S = rng.integers(ask.n, size=self.batch)
            g = ask.difference(S, x, snapshot) + mean
            y = ask.prox(y, g, self.step / w)
            at, x = x, combine(snapshot, y, w)
            average = x if average is None else combine(average, x, 1.0 / (j + 1.0))
            done = j == self.period - 1
            yield State(x, at, g, average if done else snapshot)
            if done:
                snapshot = average
                w = (math.sqrt(w**4 + 4.0 * w**2) - w**2) / 2.0


class ASVRG(ProxASVRG):
    """Accelerated SVRG, unconstrained (theory for convex f)."""

    name = "asvrg"
    counts = "T iterations: FO ceil(T/m), SFO n ceil(T/m) + 2bT"
    requires = ProxASVRG.requires | SMOOTH


@dataclass(frozen=True, kw_only=True)
class ProxKatyushaNS(AcceleratedMethod):
    """Katyusha^ns, proximal (theory for convex f).

    Proximal Katyusha^ns for convex f, with option I (option=1) or option II (option=2).

    epoch s: tau1 = 2/(s+4), tau2 = 1/2, alpha = eta/tau1, mu = grad f(x~)
        x = tau1 z + tau2 x~ + (1 - tau1 - tau2) y
        g = mu + mean over S of [grad f_i(x) - grad f_i(x~)]
        z+ = prox_{alpha h}(z - alpha g)
        y+ = prox_{eta h}(x - eta g)  (option I),  x + tau1 (z+ - z)  (option II)
    x~ = average of the epoch's y+
    """

    name = "prox-katyusha-ns"
    source = "Allen-Zhu, JMLR 2018, Katyusha^ns"
    counts = "T iterations: FO ceil(T/m), SFO n ceil(T/m) + 2bT, PO 2T (option 2: PO T)"
    requires = frozenset({"gradient", "difference"}) | COMPOSITE
    assumes = frozenset({"convex"})

    period: int = integer(MISSING, "m, iterations between full gradients (2n in theory)")
    option: int = one_of_values(1, "1 or 2, as in the source", (1, 2))

    def run(self, ask: AlgorithmOracles, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """Start at x, and yield a state after each update; see the class's pseudo-code."""
        snapshot, y, z = keep(x), keep(x), keep(x)
        for t in range(self.iterations):
            s, j = divmod(t, self.period)
            tau = 2.0 / (s + 4.0)
            if j == 0:
                mean, average = ask.gradient(snapshot), None
                snapshot = keep(snapshot)
            # tau1 z + tau2 x~ + (1 - tau1 - tau2) y with tau2 = 1/2
            x = combine(combine(y, z, 2.0 * tau), snapshot, 0.5)
            S = rng.integers(ask.n, size=self.batch)
            g = ask.difference(S, x, snapshot) + mean
            before, z = z, ask.prox(z, g, self.step / tau)
            y = ask.prox(x, g, self.step) if self.option == 1 else shift(x, z, before, tau)
            average = y if average is None else combine(average, y, 1.0 / (j + 1.0))
            done = j == self.period - 1
            yield State(y, x, g, average if done else snapshot)
            if done:
                snapshot = average


class KatyushaNS(ProxKatyushaNS):
    """Katyusha^ns, unconstrained (theory for convex f)."""

    name = "katyusha-ns"
    counts = "T iterations: FO ceil(T/m), SFO n ceil(T/m) + 2bT"
    requires = ProxKatyushaNS.requires | SMOOTH


@dataclass(frozen=True, kw_only=True)
class ProxRSAG(AcceleratedMethod):
    """Stochastic accelerated gradient, proximal.

    Randomised stochastic accelerated gradient (RSAG) with proximal steps and a constant batch.

    alpha_k = 2/(k+1)
    x_md = (1 - alpha_k) x_ag + alpha_k x
    G = mean over S of grad f_i(x_md)  (batch = n: the full gradient, without a draw)
    x = prox_{lambda_k h}(x - lambda_k G),   x_ag = prox_{beta h}(x_md - beta G)
    lambda_k = (1 + alpha_k/4) beta (non-convex), k beta/2 (convex)
    """

    name = "prox-rsag"
    source = "Ghadimi & Lan, Math. Prog. 2016; wang2019 (3); qu2018 algorithm 3"
    counts = "T iterations: SFO bT, PO 2T"
    requires = frozenset({"batch"}) | COMPOSITE
    assumes = frozenset({"bounded domain"})
    schedule_parameters = AcceleratedMethod.schedule_parameters | {"momentum"}
    guarantee = mapping_square_guarantee("1/(2 L)", "least")

    output: str = parameter("last", "last, uniform, or weighted by k(k+1), among x_md")
    momentum: str = one_of_values(
        "nonconvex", "nonconvex or convex: lambda_k", ("nonconvex", "convex")
    )

    def output_weight(self, k: int) -> float:
        """Return k (k+1)/2, the weight with which iterate k is drawn as the output."""
        return k * (k + 1.0) / 2.0

    @classmethod
    def theory(cls, epsilon: float, constants: Constants, **overrides: Any) -> Self:
        """Return the method for accuracy epsilon, with batch n, step 1/(2L) and N iterations.

        The momentum is the convex one, lambda_k = k beta/2. With exact proximal maps, the method is
        ncgs with option 2. So qu2018 theorem 1 II applies: N is the least number of iterations with
        min |G|^2 <= 192 L^2 D^2/(N^2 (N+1)) + 144 ell L M^2/N <= epsilon.
        """
        L, ell, D, M, n = cls.schedule_constants(constants, "L", "ell", "D", "M", "n")

        def bound(N: int) -> float:
            return 192.0 * L * L * D**2 / (N * N * (N + 1.0)) + 144.0 * ell * L * M**2 / N

        return cls.from_schedule(
            overrides,
            iterations=smallest_integer(lambda N: bound(N) <= epsilon),
            step=1.0 / (2.0 * L),
            batch=int(n),
            momentum="convex",
        )

    def run(self, ask: AlgorithmOracles, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """Start at x, and yield a state after each update; see the class's pseudo-code."""
        beta, ag, n = self.step, keep(x), getattr(ask, "n", None)
        for k in range(1, self.iterations + 1):
            alpha = 2.0 / (k + 1.0)
            md = combine(ag, x, alpha)
            S = np.arange(n) if self.batch == n else ask.sample(rng, self.batch)
            G = ask.batch(S, md)
            convex = self.momentum == "convex"
            x = ask.prox(x, G, k * beta / 2.0 if convex else (1.0 + alpha / 4.0) * beta)
            ag = ask.prox(md, G, beta)
            yield State(ag, md, G)


class RSAG(ProxRSAG):
    """Stochastic accelerated gradient, unconstrained."""

    name = "rsag"
    counts = "T iterations: SFO bT"
    requires = ProxRSAG.requires | SMOOTH
    assumes = frozenset()
    guarantee = gradient_square_guarantee("least")

    @classmethod
    def theory(cls, epsilon: float, constants: Constants, **overrides: Any) -> Self:
        """Return the method for accuracy epsilon, with batch n, step 1/(2L) and N iterations.

        N is the least number of iterations with 6 L h0/N <= epsilon, where h0 is at least
        f(x_0) - min f. The left side bounds the smallest squared norm of a gradient.
        """
        L, h0, n = cls.schedule_constants(constants, "L", "delta", "n")
        return cls.from_schedule(
            overrides,
            iterations=max(1, round_up(6.0 * L * h0 / epsilon)),
            step=1.0 / (2.0 * L),
            batch=int(n),
        )
