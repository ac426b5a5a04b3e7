"""Linear convergence of away-step and blended pairwise Frank-Wolfe, by the pyramidal width."""

from functools import partial

import numpy as np

from pfbench.algorithms.active_set import AwayStepFW, BlendedPairwiseFW
from pfbench.base.protocols import Gradient, Point
from pfbench.points.active import ActiveSet
from pfbench.verification import Claim, Evidence, Mutant, instance
from pfbench.verification.instruments.indefinite import Indefinite
from pfbench.verification.instruments.widths import on_a_face, width
from pfbench.verification.statistics import Decision, all_of, decide_inequality
from pfbench.verification.trial import Trial

INSTANCES = tuple(
    instance(on_a_face, kind=kind, d=d, kappa=kappa, turn=turn).called(f"{kind} {d}")
    for kind, d, kappa, turn in (
        *(("simplex", 4, 3.0, 3), ("simplex", 3, 1.0, 0)),
        *(("cube", 3, 2.0, 1), ("l1", 3, 2.0, 3)),
    )
)
"""Plain Frank-Wolfe zigzags on these: half a million times the bound is reached on the first."""

_LONGEST = 1500

_FLOOR = 1e-11
"""Below this part of f(x_1) - min f, rounding may decide a step."""


def rate(problem: Indefinite, kind: str, share: float) -> float:
    """Return rho = min(1/2, share mu delta^2/(L M^2)): pyramidal width delta, diameter M."""
    eigenvalues = np.linalg.eigvalsh(problem.A)
    d = problem.b.size
    squared = (width(kind, d) / problem.set.diameter) ** 2
    return float(min(0.5, share * eigenvalues[0] * squared / eigenvalues[-1]))


def contracts(trial: Trial, *, share: float) -> Evidence:
    """Compare f(x_t) - min f with (1 - rho)^ceil((t-1)/2) times that of the first vertex."""
    parts: dict[str, Decision] = {}
    for one in INSTANCES:
        problem = one()
        L = float(np.linalg.eigvalsh(problem.A)[-1])
        rho = rate(problem, one.parameters["kind"], share)
        T = min(_LONGEST, int(40.0 / rho))
        algorithm = trial.make(iterations=T, smoothness=L)
        steps = trial.follow(problem, algorithm)
        h = np.array([problem.value(np.asarray(step.state.x)) - problem.least for step in steps])
        t = np.arange(len(h))
        bound = h[0] * (1.0 - rho) ** -(-t // 2)
        seen = (t > 0) & (bound > _FLOOR * h[0])  # at the first vertex both sides are equal
        parts[one.name] = decide_inequality((h / bound)[seen])
    return Evidence(all_of(parts), {"ratio": 1.0}, len(parts))


def _claim(name: str, source: str, share: float, statement: str) -> Claim:
    return Claim(
        name=f"polytopes-contraction-{name}",
        source=source,
        kind="bound",
        statement=statement,
        check=partial(contracts, share=share),
        instances=INSTANCES,
        algorithm=name,
        assumptions=("f strongly convex", "a polytope"),
        schedule="short steps with L = L_f",
        takes=(0.3, 0.3),
    )


_HALF = (
    "f(x_t) - min f <= (1 - rho)^((t-1)/2) (f(x_1) - min f), rho = min(1/2, mu delta^2/(4 L M^2)), "
    "delta the pyramidal width, M the diameter: at least half of the steps shrink by 1 - rho, and "
    "no other step grows (the constant is derived by pfbench)"
)

AWAY = _claim("afw", "Lacoste-Julien, Jaggi 2015; pfbench", 0.25, _HALF)

BLENDED = _claim("bpfw", "Tsuji, Tanaka, Pokutta 2022; pfbench", 0.25, _HALF)

CLAIMS = (AWAY, BLENDED)


# --- planted faults -------------------------------------------------------------------------------


class NoAway(AwayStepFW):
    """Takes no away step: plain Frank-Wolfe with short steps."""

    def move(self, S: ActiveSet, x: Point, g: Gradient, w: Point) -> None:
        """Move toward w."""
        S.toward(w, min(1.0, self.short(g, w - x)))


class NoPairs(BlendedPairwiseFW):
    """Takes no pairwise step."""

    move = NoAway.move


class TwiceAsFar(AwayStepFW):
    """Steps twice as far where a vertex allows it."""

    def short(self, g: Gradient, d: Point) -> float:
        """Return twice the short step."""
        return 2.0 * super().short(g, d)


MUTANTS = (
    Mutant.of("afw-no-away", NoAway, AWAY),
    Mutant.of("afw-twice-as-far", TwiceAsFar, AWAY),
    Mutant.of("bpfw-no-pairs", NoPairs, BLENDED),
)
