"""What each good step of away-step, pairwise and blended pairwise Frank-Wolfe gains.

h_t = f(x_t) - min f, delta the pyramidal width, M the diameter. A step is *good* unless it is the
longest that its direction allows; a step to w = LO(g) always is. h <= <g, a - w>^2/(2 mu delta^2),
a the active vertex with the largest <g, v>, and a direction d of afw and bpfw has <g, -d> at least
half of <g, a - w>, that of pfw all of it. A vertex that is dropped was added before.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from pfbench.algorithms.active_set import AwayStepFW, PairwiseFW
from pfbench.base.protocols import Asked, Gradient, Point
from pfbench.points.active import ActiveSet
from pfbench.verification import Claim, Evidence, Instance, Mutant, instance
from pfbench.verification.instruments.turns import Weights
from pfbench.verification.instruments.widths import on_a_face, width
from pfbench.verification.statistics import Decision, all_of, decide_exact, decide_inequality
from pfbench.verification.trial import Trial
from pfbench.verification.units import NUMBER, VALUE, formula

INSTANCES = tuple(
    instance(on_a_face, kind=kind, d=d, kappa=kappa, turn=turn).called(f"{kind} {d}, {turn}")
    for kind, d, kappa, turns in (
        *(("simplex", 3, 1.0, (0,)), ("simplex", 4, 3.0, (1, 3)), ("simplex", 6, 2.0, (0, 1))),
        *(("cube", 3, 3.0, (1, 9, 10)), ("l1", 3, 1.0, (9,)), ("l1", 3, 3.0, (0, 1, 7))),
        *(("l1", 4, 3.0, (1,)), ("cube", 4, 3.0, (4,))),
    )
    for turn in turns
)
"""Pairwise steps reach the bound of the gap on "l1 3, 9"; good away steps nearly theirs on l1;
the last one has a drop."""

_MOST = 400

_FLOOR = 1e-11
"""Below this part of f(x_1) - min f, rounding may decide a step."""


def left(L_f: float, sigma_hat: float, rho: float, D: float, *, of: float) -> float:
    """Return 1 - min(1/2, mu delta^2/(of L M^2)): rho the width, sigma_hat the modulus mu."""
    return 1.0 - min(0.5, sigma_hat * (rho / D) ** 2 / (of * L_f))


def gap_bound(spread: float, sigma_hat: float, rho: float) -> float:
    """Return <g, a - w>^2/(2 mu delta^2), which f(x) - min f is at most."""
    return spread**2 / (2.0 * sigma_hat * rho**2)


def contracts(trial: Trial, *, of: float, counted: bool) -> Evidence:
    """Compare each step of each run with its bound; `counted`: and the number of good ones."""
    parts: dict[str, Decision] = {}
    for one in INSTANCES:
        for step in ("short", "line-search"):
            parts |= {
                f"{one.name}, {step}, {what}": found
                for what, found in _of_run(trial, one, step, of, counted).items()
            }
    return Evidence(all_of(parts), {"ratio": 1.0}, 2 * len(INSTANCES))


def _of_run(
    trial: Trial, one: Instance, step: str, of: float, counted: bool
) -> dict[str, Decision]:
    problem = one()
    mu, *_, L = map(float, np.linalg.eigvalsh(problem.A))
    delta, D = width(one.parameters["kind"], one.parameters["d"]), problem.set.diameter
    made = trial.make(iterations=_MOST, smoothness=L, step=step)
    moves = trial.moves(problem, made)
    _, first = next(moves)
    S = Weights(np.asarray(first.state.x))
    h0 = h = problem.value(np.asarray(first.state.x)) - problem.least
    good, others, gaps, kinds = [0.0], [0.0], [0.0], list[str]()
    for x, taken in moves:
        there, g = np.asarray(taken.state.x), problem.gradient(x)
        turn = S.turn(x, there, g, problem.set.lo(g))
        gaps.append(h / max(gap_bound(turn.spread, mu, delta), _FLOOR * h0))
        before, h = h, problem.value(there) - problem.least
        shrinks = left(L, mu, delta, D, of=of) if turn.kind == "good" else 1.0
        (good if turn.kind == "good" else others).append(h / (shrinks * before))
        kinds.append(turn.kind)
        if h <= _FLOOR * h0:
            break
    found = {
        "good steps": decide_inequality(good),
        "others": decide_inequality(others, 1e-9),
        "gap": decide_inequality(gaps),
    }
    if counted:
        share = kinds.count("good") / len(kinds)
        said = f"{share:.3g} of the steps are good."
        found["share"] = decide_exact(share >= 0.5, said, said, {"share": share})
    return found


def _claim(name: str, source: str, of: float, words: str, counted: bool) -> Claim:
    return Claim(
        name=f"polytopes-good-step-{name}",
        source=source,
        kind="bound",
        statement=f"a good step leaves at most 1 - rho of f(x) - min f, rho = min(1/2, {words}), "
        "no other step raises it, and f(x) - min f <= <g, a - w>^2/(2 mu delta^2)"
        + ("; at least half of the steps are good" if counted else "")
        + " (derived by pfbench)",
        check=partial(contracts, of=of, counted=counted),
        instances=INSTANCES,
        algorithm=name,
        assumptions=("f strongly convex", "a polytope"),
        schedule="short steps with L = L_f, and exact line search",
        takes=(3.0, 3.0),
        formulas=(formula(left, NUMBER, {"of": of}), formula(gap_bound, VALUE, spread=VALUE)),
    )


AWAY = _claim("afw", "Lacoste-Julien, Jaggi 2015; pfbench", 4.0, "mu delta^2/(4 L M^2)", True)

BLENDED = _claim("bpfw", "Tsuji, Tanaka, Pokutta 2022; pfbench", 4.0, "mu delta^2/(4 L M^2)", True)

PAIRWISE = _claim("pfw", "Lacoste-Julien, Jaggi 2015; pfbench", 1.0, "mu delta^2/(L M^2)", False)

CLAIMS = (AWAY, BLENDED, PAIRWISE)


# --- planted faults -------------------------------------------------------------------------------


class Lingering(AwayStepFW):
    """Takes an away step where it should not, and none where it should."""

    def move(self, ask: Asked, S: ActiveSet, x: Point, g: Gradient, w: Point) -> None:
        """Move toward w only where that descends less."""
        a, _ = S.extremes(g)
        if len(S) == 1 or float(np.sum(g * (2.0 * x - w - S.vertex(a)))) <= 0.0:
            S.toward(w, self.length(ask, x, g, w - x, 1.0, lambda: w))
        else:
            end = partial(S.without, a)
            S.away(a, self.length(ask, x, g, x - S.vertex(a), S.farthest(a), end))


class QuarterOfAPair(PairwiseFW):
    """Moves a quarter of the weight that it should."""

    def length(
        self, ask: Asked, x: Point, g: Gradient, d: Point, most: float, end: Callable[[], Point]
    ) -> float:
        """Return a quarter of the step."""
        return super().length(ask, x, g, d, most, end) / 4.0


MUTANTS = (
    Mutant.of("afw-lingering", Lingering, AWAY),
    Mutant.of("pfw-quarter-of-a-pair", QuarterOfAPair, PAIRWISE),
)
