"""Whether the output of a long run has its source's law: a change that comes late shows there.

An output that the harness draws is declared: weights are compared one by one. Of one that a method
tells itself its place in the source's law is uniform on [0, 1], and tested by an e-process over
seeds. Of 44 runs it finds an output that is always in the same half of the run, of 22 one that is
always in the same quarter.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.protocols import Algorithm
from pfbench.verification.followed import Step
from pfbench.verification.instruments.waves import Waves
from pfbench.verification.laws.estimates import ROUNDING
from pfbench.verification.laws.method import Chances, Method, Parameters, Setting, runnable, told_of
from pfbench.verification.laws.steps import drawn
from pfbench.verification.seen import Seen
from pfbench.verification.statistics import Decision, decide_uniform
from pfbench.verification.subject import Lacks, Raised, Untestable
from pfbench.verification.trial import Trial

_RUNS, _PARTS = 44, 4

_EARLY = 21
"""Iterations whose output is enumerated elsewhere."""


def late_output(trial: Trial, method: Method, settings: Sequence[Setting]) -> Decision | None:
    """Decide whether the output of long runs is declared, or drawn, as the source has it.

    None where there is nothing to decide: no settings, or an output of which the source says
    nothing.
    """
    aside, decided = replace(trial, seen=Seen()), None
    try:
        made = list(runnable(trial, settings))
    except Lacks:  # it refuses the sizes, or each of the outputs
        return None
    for one, algorithm in made:
        found = _declared(trial, one, algorithm)
        if found:
            return Decision("violated", f"{one}: {found} ({trial.place}).", {}, None)
        if decided is None:  # its own it draws whatever is declared
            decided = _told_itself(aside, method, one, algorithm)
            if decided.verdict == "violated":
                break
    return decided


def at_its_end(s: Parameters, ats: Sequence[Floats], last: Floats) -> Chances:
    """Return the law of a declared output, given the points of a run; p_k = k(k+1)."""
    return drawn(s["output"], ats, last, lambda k: k * (k + 1.0))


def _declared(trial: Trial, where: Setting, algorithm: Algorithm) -> str:
    """Return what is wrong with the output that a method declares for a long run."""
    T = where.parameters.get("iterations", 1)
    given = {**where.parameters, "iterations": min(T, _EARLY)}
    late = getattr(algorithm, "output", None)
    try:
        early = getattr(trial.make(**given), "output", None)
    except Untestable:  # of a short run it may refuse the other parameters
        early = late
    if early != late:
        return f"it declares output={late} for T={T}, and {early} for T={given['iterations']}"
    weight = getattr(algorithm, "output_weight", None)
    if late != "weighted" or weight is None:
        return ""
    k = np.arange(1.0, T + 1.0)
    try:
        weights = np.array([float(weight(int(one))) for one in k])
    except Exception as error:  # somebody's code
        raise Raised(f"its output_weight raised {type(error).__name__}: {error}") from error
    right = k * (k + 1.0)
    right *= weights[:_EARLY].sum() / right[:_EARLY].sum()
    off = np.flatnonzero(~(np.abs(weights - right) <= ROUNDING * right))
    if not off.size:
        return ""
    first = off[0]
    ratio = weights[first] / right[first]
    return f"iteration {first}: its weight in the draw of the output is {ratio:.6g} of the source's"


def _told_itself(trial: Trial, method: Method, where: Setting, algorithm: Algorithm) -> Decision:
    """Decide whether the output that a method tells itself has the declared law, or the usual."""
    usual = where.parameters["output"]
    outputs = dict.fromkeys((getattr(algorithm, "output", usual), usual))
    known = [one.parameters.get("output") for one in method.chosen]
    laws = {output: list[int]() for output in outputs if output in known}
    problem, rng = where.problem(), trial.rng("place of the output")
    decided = dict[str, Decision]()
    for seed in trial.seeds(_RUNS, "output of a long run"):
        run = list(trial.follow(problem, algorithm, seed=seed))
        last = run[-1].state
        if last.output is None:
            return Decision("holds", "Its output is declared.", {}, None)
        ats = _ats(method, where, problem, run)
        for output, places in laws.items():
            given = {**where.parameters, "output": output}
            chances = (method.at_end or at_its_end)(given, ats, last.x)
            places.append(_place(chances, last.output, rng))
            decided[output] = decide_uniform(places, _PARTS)
        if all(one.verdict == "violated" for one in decided.values()):
            break
    verdicts = [one.verdict for one in decided.values()]
    if verdicts and all(one == "violated" for one in verdicts):
        found = next(iter(decided.values()))
        words = f"{where}: after a long run the output has another law ({trial.place})."
        return replace(found, reason=words)
    if verdicts[:1] == ["holds"]:
        return replace(next(iter(decided.values())), reason="Its output has the source's law.")
    words = "Its own output after a long run is not the declared one, or its law looks off."
    return Decision("inconclusive", words, {}, None)


def _ats(method: Method, where: Setting, problem: Waves, run: Sequence[Step]) -> list[Floats]:
    """Return where the estimates were formed; where the source is then, if that was not told."""
    if all(one.state.at is not None for one in run):
        return [one.state.at for one in run]
    told = [told_of(one) for one in run]
    return [place.formed.at for place in method.referee(problem, where.parameters, told)]


def _place(chances: Chances, output: Floats, rng: np.random.Generator) -> int:
    """Return in which part of the law an output lies, -1 if it is none of the points.

    Of points that coincide one is drawn by its chance, so that all parts are equally likely.
    """
    shares: Any = np.array([chance for chance, _ in chances])
    points = np.array([point for _, point in chances])
    off = np.abs(points - output).max(axis=1)
    same = np.flatnonzero(off <= ROUNDING * max(1.0, float(np.abs(output).max())))
    if not shares[same].sum() > 0.0:
        return -1
    k = rng.choice(same, p=shares[same] / shares[same].sum())
    place = (shares[:k].sum() + rng.random() * shares[k]) / shares.sum()
    return min(_PARTS - 1, int(_PARTS * place))
