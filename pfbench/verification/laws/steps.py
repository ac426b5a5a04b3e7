"""Whether steps and output are those of the source, given the estimates."""

import math
from collections.abc import Sequence

import numpy as np
import scipy

from pfbench.base.arrays import Floats
from pfbench.base.protocols import Algorithm
from pfbench.verification.evidence import Evidence
from pfbench.verification.instruments.draws import Unscripted, branches
from pfbench.verification.instruments.waves import Waves
from pfbench.verification.laws.estimates import ROUNDING
from pfbench.verification.laws.method import (
    Chances,
    Method,
    Parameters,
    Place,
    Setting,
    Told,
    follow,
    runnable,
)
from pfbench.verification.repeats import check_repeats, check_seed, noted
from pfbench.verification.statistics import LEVEL, Decision, all_of, decide_exact, decide_inequality
from pfbench.verification.subject import Raised, Untestable
from pfbench.verification.trial import Trial

_SEEDS = (0, 1, 2)
"""Streams with which each setting is followed."""

_CLAIMED = {"relative deviation": 0.0, "ratio": 1.0, "difference of chances": 0.0}

_SAMPLED = 400
"""Runs where the draws of the output cannot be enumerated."""


def steps_as_its_source(trial: Trial, *, method: Method) -> Evidence:
    """Compare each step with where the source leads from the told estimate, then the output."""
    parts: dict[str, Decision] = {}
    for one, algorithm in runnable(trial, method.followed):
        parts[str(one)] = _steps(trial, method, one, algorithm)
        if parts[str(one)].verdict == "violated":
            return Evidence(all_of(parts), _CLAIMED, len(parts))
    for one, algorithm in runnable(trial, method.chosen):
        decided = parts[f"output, {one}"] = _output(trial, _Laws(method, one, algorithm))
        if decided.verdict == "violated":
            check_seed(trial, one.problem(), algorithm)
            break
    return Evidence(all_of(parts), _CLAIMED, len(parts))


def _steps(trial: Trial, method: Method, where: Setting, algorithm: Algorithm) -> Decision:
    problem = where.problem()
    deviation, ratios = 0.0, [0.0]
    for seed in _SEEDS:
        told = follow(trial, method, where, algorithm, problem, seed=seed)
        for one, place in zip(told, method.referee(problem, where.parameters, told), strict=False):
            pairs = [(one.at, place.formed.at), (one.x, place.x), (one.output, place.output)]
            off = [apart(a, b) for a, b in pairs if a is not None and b is not None]
            deviation = max(deviation, *off, 0.0)
            ratios += place.ratios
    measured = {"relative deviation": deviation, "ratio": max(ratios)}
    if deviation > ROUNDING:
        wrong = f"A step is off its source's by {deviation:.3g}."
        return Decision("violated", wrong, measured, None)
    decision = decide_inequality(ratios, ROUNDING)
    return Decision(decision.verdict, decision.reason, measured, None)


def apart(a: Floats, b: Floats, size: float = 1.0) -> float:
    """Return the distance of two points relative to their size; infinite if there is none.

    Where b is smaller than a size, it is relative to that.
    """
    if a.shape != b.shape:
        raise Raised(f"it tells a point of shape {a.shape}, not {b.shape}")
    off, size = float(np.abs(a - b).max()), max(size, float(np.abs(b).max()))
    off = off / size if off and size else off
    return math.inf if math.isnan(off) else off


# --- the output -----------------------------------------------------------------------------------


class _Laws:
    """The laws of the output: that of the method, and its source's; each sums up over runs.

    The source's is that of the output which the method declares; `usual` that of the source's own.
    """

    def __init__(self, method: Method, where: Setting, algorithm: Algorithm) -> None:
        self.problem, self.algorithm, self.where = where.problem(), algorithm, where
        self.method, self.name = method, str(where)
        self.drawn: dict[bytes, float] = {}
        self.right: dict[bytes, float] = {}
        self.usual: dict[bytes, float] = {}
        self.tells_its_own = False

    def add(self, chance: float, told: Sequence[Told]) -> None:
        """Add a run with its chance."""
        parameters = self.where.parameters
        places = list(self.method.referee(self.problem, parameters, told))
        self.tells_its_own = told[-1].output is not None
        outputs = self.method.outputs or declared
        for law, output in ((self.right, self.output), (self.usual, self.of_source)):
            given = {**parameters, "output": output} if output else parameters
            _add(law, chance, outputs(self.problem, given, places))
        _add(self.drawn, chance, _told(self.algorithm, told, places))

    @property
    def of_source(self) -> str | None:
        """The output that the source declares; None where there is but one."""
        found: str | None = self.method.chosen[0].parameters.get("output")
        return found

    @property
    def output(self) -> str | None:
        """The output that the method declares: by its attribute, else its source's if it tells one.

        Raises
        ------
        Untestable
            If its source says nothing of that one.
        """
        if self.of_source is None:
            return None
        known = {one.parameters.get("output") for one in self.method.chosen}
        usual = self.of_source if self.tells_its_own else "last"
        found: str = getattr(self.algorithm, "output", usual)
        if found not in known:
            raise Untestable(f"it declares output={found}, of which its source says nothing")
        return found

    def clear(self) -> None:
        """Forget all runs."""
        self.drawn.clear()
        self.right.clear()
        self.usual.clear()


def _output(trial: Trial, laws: _Laws) -> Decision:
    """Compare the law of the output with the source's, for the output that the method declares.

    A method that tells an output of its own, and draws it as its source does whatever `output` it
    is given, does not go by that parameter: that is no violation of the source's law.
    """
    try:
        decided = _decided_output(trial, laws)
    except Untestable as error:
        return Decision("inconclusive", f"{str(error)[0].upper()}{str(error)[1:]}.", {}, None)
    other = laws.tells_its_own and laws.output != laws.of_source
    if not (other and decided.verdict == "violated"):
        return decided
    usual = _decide(laws.drawn, laws.usual, decided.p_value is not None)
    if usual.verdict == "violated":
        return decided
    words = f"It tells an output of its own, and does not go by output={laws.output}."
    return Decision("inconclusive", words, decided.measured, None)


def _decided_output(trial: Trial, laws: _Laws) -> Decision:
    """Enumerate all draws of the output; where they cannot be, sample runs."""
    given = (trial, laws.method, laws.where, laws.algorithm, laws.problem)
    try:
        check_repeats(trial, laws.problem, laws.algorithm)
        for chance, told in branches(lambda rng: follow(*given, rng=rng)):
            laws.add(chance, told)
    except Unscripted as why:
        laws.clear()
        for seed in trial.seeds(_SAMPLED, laws.name):
            laws.add(1.0 / _SAMPLED, follow(*given, seed=seed))
        return noted(_decide(laws.drawn, laws.right, sampled=True), why)
    return _decide(laws.drawn, laws.right, sampled=False)


def _decide(found: dict[bytes, float], right: dict[bytes, float], sampled: bool) -> Decision:
    """Decide whether a law that was enumerated, or sampled, is the right one."""
    if sampled:
        return _compared(found, right)
    points = {**found, **right}
    off = max(abs(found.get(key, 0.0) - right.get(key, 0.0)) for key in points)
    return decide_exact(
        off <= ROUNDING,
        "The output is drawn as the source draws it.",
        f"A point is the output with a chance that is off by {off:.3g}.",
        {"difference of chances": off, "points": float(len(right))},
    )


def _add(law: dict[bytes, float], chance: float, chances: Chances) -> None:
    for share, point in chances:
        if share > 0.0:
            key = (np.round(point, 7) + 0.0).tobytes()
            law[key] = law.get(key, 0.0) + chance * share


def _told(algorithm: object, told: Sequence[Told], places: Sequence[Place]) -> Chances:
    """Return the law of the output of a run: the state's own, else the declared one."""
    if told[-1].output is not None:
        return [(1.0, told[-1].output)]
    output = getattr(algorithm, "output", "last")
    weight = getattr(algorithm, "output_weight", None) if output == "weighted" else None
    # What a method does not tell of itself is where its source would be.
    pairs = zip(told, places, strict=False)
    ats = [place.formed.at if one.at is None else one.at for one, place in pairs]
    return drawn(output, ats, told[-1].x, weight)


def declared(problem: Waves, parameters: Parameters, places: Sequence[Place]) -> Chances:
    """Return the law that an output of the parameters declares, p_k = k(k+1) where weighted."""
    last = places[-1].x
    assert last is not None
    ats = [place.formed.at for place in places]
    return drawn(parameters["output"], ats, last, lambda k: k * (k + 1.0))


def drawn(output: str, ats: Sequence[Floats], last: Floats, weight: object) -> Chances:
    """Return the law of a declared output: last, or drawn among the points of the estimates."""
    if output == "last":
        return [(1.0, last)]
    weights = [
        weight(k) if callable(weight) and output == "weighted" else 1.0
        for k in range(1, len(ats) + 1)
    ]
    return [(one / sum(weights), at) for one, at in zip(weights, ats, strict=True)]


def _compared(found: dict[bytes, float], right: dict[bytes, float]) -> Decision:
    """Test the sampled law by exact binomial tests of each point, at its share of the level."""
    points = {**found, **right}
    p_value = 1.0
    for key in points:
        number, chance = round(found.get(key, 0.0) * _SAMPLED), min(1.0, right.get(key, 0.0))
        one = scipy.stats.binomtest(number, _SAMPLED, chance).pvalue
        p_value = min(p_value, float(one) * len(points))
    measured = {"points": float(len(right))}
    if p_value <= LEVEL:
        return Decision("violated", "The output has another law.", measured, p_value)
    if p_value <= 1e-3:
        return Decision("inconclusive", "The output's law looks off.", measured, p_value)
    return Decision("holds", "Nothing speaks against the output's law.", measured, p_value)
