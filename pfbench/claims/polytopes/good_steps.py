"""Decrease in good steps of active-set Frank-Wolfe methods, and the linear convergence from it.

h_t = f(x_t) - min f, delta the pyramidal width, M the diameter. A step is *good* unless it is the
longest that its direction allows; a step to a minimiser w of <g, v> is always good. Let a be the
active vertex with the largest <g, v>. Then h <= <g, a - w>^2/(2 mu delta^2). A direction d of afw
and bpfw has <g, -d> >= <g, a - w>/2; that of pfw has <g, -d> = <g, a - w>. Each dropped vertex was
added before.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.verification import Claim, Instance, Trial, make_instance
from pfbench.verification.instruments.quadratics import (
    pyramidal_width,
    quadratic_on_facet,
    suboptimality,
)
from pfbench.verification.statements.each_instance import check_each_instance
from pfbench.verification.statistics import Decision, combine_all, decide_exact, decide_inequality
from pfbench.verification.units import NUMBER, VALUE, formula

KINDS = ("good", "drop", "swap")
"""*good*: shorter than the longest step, or all the way to w = LO(g); *drop*: the longest step,
if it removes a vertex; *swap*: the longest step, if the number of vertices stays."""

_SAME = 1e-9
"""Relative size up to which differences count as rounding errors."""


@dataclass(frozen=True)
class ActiveSetStep:
    """Kind of a step of an active-set method, and the pairwise gap before the step.

    Attributes
    ----------
    kind
        One of `KINDS`.
    pairwise_gap
        <g, a - w> before the step, with a the vertex of the active set with the largest <g, v>,
        and w = LO(g).
    """

    kind: str
    pairwise_gap: float


class ActiveSetTracker:
    """Active set of a run that starts at a vertex: vertices and weights, inferred from iterates.

    Let w be a minimiser of <g, v> over the polytope, and let a and l be the active vertices with
    the largest and the least <g, v>. A step moves toward w, away from a, from a to w, or from a to
    l.

    Parameters
    ----------
    v
        The first vertex, shape (d,).
    """

    def __init__(self, v: Floats) -> None:
        self._vertices, self._weights = v[None].copy(), np.array([1.0])

    def apply_and_classify_step(
        self, x: Floats, next_x: Floats, g: Floats, w: Floats
    ) -> ActiveSetStep:
        """Update the weights by the step from x to the next iterate; return the step's kind."""
        products = self._vertices @ g
        a, low = int(np.argmax(products)), int(np.argmin(products))
        pairwise_gap = float(products[a] - g @ w)
        to = self._find_index(w)
        share = float(self._weights[a])
        unit = np.eye(len(self._weights))
        pairs = [(unit[to] - unit[a], share), (unit[low] - unit[a], share)]
        around = [(unit[to] - self._weights, 1.0)]
        if share < 1.0:
            around.append((self._weights - unit[a], share / (1.0 - share)))
        best = min((*around, *pairs), key=lambda item: self._direction_error(item[0], next_x - x))
        change, upper = best
        gamma = self._gamma(change, next_x - x)
        is_complete = gamma >= upper * (1.0 - _SAME)
        before = int((self._weights > 0.0).sum())
        self._weights = self._weights + min(gamma, upper) * change
        retained = self._weights > _SAME**1.5
        self._vertices, self._weights = self._vertices[retained], self._weights[retained]
        if not is_complete or best is around[0]:
            return ActiveSetStep("good", pairwise_gap)
        return ActiveSetStep("drop" if len(self._weights) < before else "swap", pairwise_gap)

    def _find_index(self, v: Floats) -> int:
        indices = np.flatnonzero((self._vertices == v).all(axis=1))
        if indices.size:
            return int(indices[0])
        self._vertices = np.vstack([self._vertices, v])
        self._weights = np.append(self._weights, 0.0)
        return len(self._weights) - 1

    def _gamma(self, change: Floats, step: Floats) -> float:
        d = change @ self._vertices
        return max(0.0, float(step @ d)) / max(float(d @ d), 1e-300)

    def _direction_error(self, change: Floats, step: Floats) -> float:
        deviation = step - self._gamma(change, step) * (change @ self._vertices)
        return round(float(np.linalg.norm(deviation)), 12)


INSTANCES = tuple(
    make_instance(quadratic_on_facet, kind=kind, d=d, kappa=kappa, turn=turn).with_title(
        f"{kind} {d}, {turn}"
    )
    for kind, d, kappa, turns in (
        *(("simplex", 3, 1.0, (0,)), ("simplex", 4, 3.0, (1, 3)), ("simplex", 6, 2.0, (0, 1))),
        *(("cube", 3, 3.0, (1, 9, 10)), ("l1", 3, 1.0, (9,)), ("l1", 3, 3.0, (0, 1, 7))),
        *(("l1", 4, 3.0, (1,)), ("cube", 4, 3.0, (4,))),
    )
    for turn in turns
)
"""Polytopes on which the bounds are nearly attained; the last one drops a vertex."""

_MOST = 400

_FLOOR = 1e-11
"""Fraction of f(x_1) - min f below which rounding may decide a step."""


def contraction_factor(
    L_f: float, sigma_hat: float, rho: float, D: float, *, smoothness_multiple: float
) -> float:
    """Return the largest factor by which a step without drop or swap multiplies f - min f.

    It is 1 - min(1/2, mu delta^2/(c L M^2)).

    The factor c is `smoothness_multiple`, the width delta is `rho`, the modulus of strong
    convexity mu is `sigma_hat`, and the diameter M is `D`.
    """
    return 1.0 - min(0.5, sigma_hat * (rho / D) ** 2 / (smoothness_multiple * L_f))


def suboptimality_bound_by_gap(pairwise_gap: float, sigma_hat: float, rho: float) -> float:
    """Return pairwise_gap^2/(2 sigma_hat rho^2), a bound of f(x) - min f from the gradient at x.

    It is <g, a - w>^2/(2 mu delta^2), where <g, a - w> is `pairwise_gap`, the modulus of strong
    convexity mu is `sigma_hat`, and the pyramidal width delta is `rho`.
    """
    return pairwise_gap**2 / (2.0 * sigma_hat * rho**2)


@check_each_instance(combine=combine_all, repetitions=2)
def check_good_steps(
    trial: Trial,
    instance: Instance,
    problem: Any,
    *,
    smoothness_multiple: float,
    counts_good_steps: bool,
) -> Iterator[tuple[str, Decision]]:
    """Test the bound of f(x) - min f before each step, and the decrease of f in each good step.

    With `counts_good_steps`, also test that at least half of the steps are good.
    """
    mu, L, delta, D = _constants(instance, problem)
    factor = contraction_factor(L, mu, delta, D, smoothness_multiple=smoothness_multiple)
    for step in ("short", "line-search"):
        moves = trial.follow_with_previous_point(
            problem, trial.make(iterations=_MOST, smoothness=L, step=step)
        )
        _, first = next(moves)
        S = ActiveSetTracker(np.asarray(first.state.x))
        h0 = h = suboptimality(problem, first.state.x)
        good, rest, gaps, kinds = [0.0], [0.0], [0.0], list[str]()
        for x, record in moves:
            g = problem.gradient(x)
            turn = S.apply_and_classify_step(x, np.asarray(record.state.x), g, problem.set.lo(g))
            upper = suboptimality_bound_by_gap(turn.pairwise_gap, mu, delta)
            gaps.append(h / max(upper, _FLOOR * h0))
            before, h = h, suboptimality(problem, record.state.x)
            is_good = turn.kind == "good"
            (good if is_good else rest).append(h / ((factor if is_good else 1.0) * before))
            kinds.append(turn.kind)
            if h <= _FLOOR * h0:
                break
        name = f"{instance.name}, {step}"
        yield f"{name}, good steps", decide_inequality(good)
        yield f"{name}, others", decide_inequality(rest, 1e-9)
        yield f"{name}, gap", decide_inequality(gaps)
        if counts_good_steps:
            share = kinds.count("good") / len(kinds)
            statement = f"{share:.3g} of the steps are good."
            measured = {"share": share}
            yield f"{name}, share", decide_exact(share >= 0.5, statement, measured)


def _constants(instance: Instance, problem: Any) -> tuple[float, float, float, float]:
    """Return the strong convexity, smoothness, pyramidal width and diameter of an instance."""
    mu, *_, L = map(float, np.linalg.eigvalsh(problem.A))
    delta = pyramidal_width(instance.parameters["kind"], instance.parameters["d"])
    return mu, L, delta, problem.set.diameter


def _claim(name: str, source: str, quantity: float, words: str, counts_good_steps: bool) -> Claim:
    return Claim(
        name=f"polytopes-good-step-{name}",
        source=source,
        kind="bound",
        statement=f"a good step leaves at most 1 - rho of f(x) - min f, rho = min(1/2, {words}), "
        "no other step raises it, and f(x) - min f <= <g, a - w>^2/(2 mu delta^2)"
        + ("; at least half of the steps are good" if counts_good_steps else "")
        + " (derived by pfbench)",
        check=partial(
            check_good_steps, smoothness_multiple=quantity, counts_good_steps=counts_good_steps
        ),
        instances=INSTANCES,
        algorithm=name,
        assumptions=("f strongly convex", "a polytope"),
        schedule="short steps with L = L_f, and exact line search",
        expected_seconds=(3.0, 3.0),
        formulas=(
            formula(contraction_factor, NUMBER, {"smoothness_multiple": quantity}),
            formula(suboptimality_bound_by_gap, VALUE, pairwise_gap=VALUE),
        ),
    )


# --- linear convergence ---------------------------------------------------------------------------

ZIGZAGGING = tuple(
    make_instance(quadratic_on_facet, kind=kind, d=d, kappa=kappa, turn=turn).with_title(
        f"{kind} {d}"
    )
    for kind, d, kappa, turn in (
        *(("simplex", 4, 3.0, 3), ("simplex", 3, 1.0, 0)),
        *(("cube", 3, 2.0, 1), ("l1", 3, 2.0, 3)),
    )
)
"""Polytopes on which plain Frank-Wolfe zigzags, on the first 500,000 times above the bound."""

_LONGEST = 1500


def suboptimality_bound(
    h0: float, L_f: float, sigma_hat: float, rho: float, D: float, t: int
) -> float:
    """Return the bound of f(x_t) - min f, if at least half of the t steps contract f - min f.

    rho is the pyramidal width, and sigma_hat the modulus of strong convexity.
    """
    factor = contraction_factor(L_f, sigma_hat, rho, D, smoothness_multiple=4.0)
    return h0 * factor ** -(-t // 2)


@check_each_instance(combine=combine_all)
def check_linear_bound(
    trial: Trial, instance: Instance, problem: Any
) -> Iterator[tuple[str, Decision]]:
    """Test for t >= 1 that f(x_t) - min f is at most a bound that converges linearly to 0."""
    mu, L, delta, D = _constants(instance, problem)
    shrinks = 1.0 - suboptimality_bound(1.0, L, mu, delta, D, 2)
    algorithm = trial.make(iterations=min(_LONGEST, int(40.0 / shrinks)), smoothness=L)
    h = [suboptimality(problem, step.state.x) for step in trial.follow(problem, algorithm)]
    bounds = [suboptimality_bound(h[0], L, mu, delta, D, t) for t in range(1, len(h))]
    ratios = np.array(h[1:]) / np.array(bounds)
    yield instance.name, decide_inequality(ratios[np.array(bounds) > _FLOOR * h[0]])


def _contraction_claim(name: str, source: str) -> Claim:
    return Claim(
        name=f"polytopes-contraction-{name}",
        source=source,
        kind="bound",
        statement="f(x_t) - min f <= (1 - rho)^((t-1)/2) (f(x_1) - min f), rho = min(1/2, "
        "mu delta^2/(4 L M^2)), delta the pyramidal width, M the diameter: at least half of the "
        "steps shrink by 1 - rho, and no other step grows (the constant is derived by pfbench)",
        check=check_linear_bound,
        instances=ZIGZAGGING,
        algorithm=name,
        assumptions=("f strongly convex", "a polytope"),
        schedule="short steps with L = L_f",
        expected_seconds=(1.2, 1.2),
        formulas=(formula(suboptimality_bound, VALUE),),
    )


CONTRACTION = (
    _contraction_claim("afw", "Lacoste-Julien, Jaggi 2015; pfbench"),
    _contraction_claim("bpfw", "Tsuji, Tanaka, Pokutta 2022; pfbench"),
)

AWAY = _claim("afw", "Lacoste-Julien, Jaggi 2015; pfbench", 4.0, "mu delta^2/(4 L M^2)", True)

BLENDED = _claim("bpfw", "Tsuji, Tanaka, Pokutta 2022; pfbench", 4.0, "mu delta^2/(4 L M^2)", True)

PAIRWISE = _claim("pfw", "Lacoste-Julien, Jaggi 2015; pfbench", 1.0, "mu delta^2/(L M^2)", False)
