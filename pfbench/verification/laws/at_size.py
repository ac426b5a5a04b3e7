"""Whether a run at the size of use is its source's, at each iteration.

No expectation is needed: a listener hears which indices were asked, so that each estimate is
computed again from them at the points that were due, and compared as it is. What shows late, rarely
or only with many components shows there, and the iteration is named.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, cast

import numpy as np

from pfbench.base.protocols import Algorithm
from pfbench.base.state import State
from pfbench.verification.claim import Claim
from pfbench.verification.evidence import Evidence
from pfbench.verification.instruments.overheard import Asked, Overheard
from pfbench.verification.instruments.waves import Waves
from pfbench.verification.laws.along import Along
from pfbench.verification.laws.counts import MORE_WORK, beyond
from pfbench.verification.laws.late_outputs import late_output
from pfbench.verification.laws.method import Method, Setting, Told, check_length, runnable, told_of
from pfbench.verification.laws.schedules import REFUSALS
from pfbench.verification.laws.sizes import drawn_by, long_by, scheduled
from pfbench.verification.replay.indices import suspected, suspected_choices
from pfbench.verification.seen import Seen
from pfbench.verification.statistics import Decision, all_of
from pfbench.verification.subject import Broken, Subject, Untestable
from pfbench.verification.trial import Trial

_CLAIMED = {"relative deviation": 0.0, "ratio": 1.0}

_DOUBTFUL = 1e-3
"""A p-value below this, and above the level, decides nothing; it is shared by all runs."""


def runs_as_its_source(trial: Trial, *, method: Method) -> Evidence:
    """Compare a run at the size of use with the source, iteration by iteration; stop at the first.

    Held to the source are each step given its estimate, each estimate given the indices that were
    asked, the counts so far, where inner loops stop, and how indices are drawn. Sizes and start are
    those of `Trial.at_seed`. Short runs at values that are extreme and legal come first.
    """
    parts: dict[str, Decision] = {}
    if method.extreme:
        extremes = at_extremes(trial, method)
        if extremes.verdict == "violated":
            return Evidence(all_of({"extremes": extremes}), _CLAIMED, 1)
    drawn = [drawn_by(trial.at_seed, one) for one in method.sized]
    by_source = scheduled(method, drawn[0])
    for one, algorithm in runnable(trial, [*drawn, *([by_source] if by_source else [])]):
        parts[str(one)] = _decided(trial, method, one, algorithm)
        if parts[str(one)].verdict == "violated":
            break
    long = [long_by(trial.at_seed, one) for one in method.long]
    if all(one.verdict != "violated" for one in parts.values()):
        output = late_output(trial, method, long) if long else None
        parts |= {"output": output} if output else {}
    if method.extreme:
        parts["extremes"] = extremes
    return Evidence(all_of(parts), _CLAIMED, len(parts))


def same_at_size(claim: Claim, faulty: Subject, settings: Sequence[Setting]) -> bool:
    """Return whether a fault changes no state and no count of runs of the size of use."""
    right, wrong = Trial(claim), Trial(claim, faulty)
    try:
        pairs = zip(runnable(right, settings), runnable(wrong, settings), strict=True)
        for (one, made), (_, changed) in pairs:
            problem = one.problem()
            runs = (right.follow(problem, made, seed=1), wrong.follow(problem, changed, seed=1))
            for a, b in zip(*runs, strict=True):
                if not (a.counts() == b.counts() and same_state(a.state, b.state)):
                    return False
    except (Broken, Untestable, ValueError):  # the fault raises, or makes more or fewer steps
        return False
    return True


def same_state(one: State, other: State) -> bool:
    """Return whether two states are the same, bit for bit."""
    pairs = zip(one, other, strict=True)
    return all((a is None) == (b is None) and np.array_equal(a, b) for a, b in pairs)


def at_extremes(trial: Trial, method: Method) -> Decision:
    """Follow short runs at extremes; each is the source's, or is refused by an error that says why.

    They say nothing of how large the problems were that were looked at.
    """
    settings = (*method.extreme, *trial.pick((), method.extreme_in_full))
    aside, deviation, refused, runs = replace(trial, seen=Seen()), 0.0, list[str](), 0
    for one, algorithm in runnable(aside, settings):
        problem, runs = Overheard(one.problem()), runs + 1
        seen = Along(cast(Waves, problem), method, one, short=True)
        try:
            told, asked, over = _followed(aside, problem, algorithm, method, one)
            spent = [step.counts for step in told]
            with suppress(Broken):  # of a run that tells less no step can be compared
                check_length(method, one.parameters, problem.n, spent)
            found = seen.first_wrong(told, asked) or over
            if not found:
                check_length(method, one.parameters, problem.n, spent)
        except Broken as error:
            if not isinstance(_first_cause(error), REFUSALS):
                raise type(error)(f"{one}: {error}") from error
            refused.append(one.problem.name)
            continue
        # Of a few draws among a few components there is nothing to tell.
        many = len(seen.batches) > 0 and len(seen.batches[0]) >= _MANY_DRAWS
        drawn, p_value = suspected(seen.batches, problem.n) if many else (None, None)
        if drawn is not None and found is None:
            found = seen.iterations[drawn.batch], drawn.what
        if found is not None:
            words = f"{one}: iteration {found[0]}: {found[1]} ({trial.place})."
            return Decision("violated", words, {"relative deviation": seen.deviation}, p_value)
        deviation = max(deviation, seen.deviation)
    measured = {"relative deviation": deviation, "runs": float(runs)}
    refusals = f" It refuses {', '.join(refused)}." if refused else ""
    return Decision("holds", f"It is the source's at extremes.{refusals}", measured, None)


_MANY_DRAWS = 32
"""A batch from which on the draws of a short run are looked at."""


def _first_cause(error: BaseException) -> BaseException:
    seen = {id(error)}
    while error.__cause__ is not None and id(error.__cause__) not in seen:
        error = error.__cause__
        seen.add(id(error))
    return error


def _decided(trial: Trial, method: Method, where: Setting, algorithm: Algorithm) -> Decision:
    problem = Overheard(where.problem())
    told, asked, over = _followed(trial, problem, algorithm, method, where)
    spent = [one.counts for one in told]
    with suppress(Broken):
        check_length(method, where.parameters, problem.n, spent)
    seen = Along(cast(Waves, problem), method, where)
    found = seen.first_wrong(told, asked) or over
    drawn, p_value = suspected(seen.batches, problem.n) if seen.batches else (None, 1.0)
    measured = {
        "relative deviation": seen.deviation,
        "ratio": seen.ratio,
        "iterations": float(len(told)),
        **({"at seed": float(trial.at_seed)} if trial.at_seed else {}),
        "draws": float(sum(map(len, seen.batches))),
    }
    if drawn is not None and (found is None or seen.iterations[drawn.batch] < found[0]):
        found = seen.iterations[drawn.batch], drawn.what + seen.evened
    for what, choices, chances in seen.choices():
        before = [step for step in choices if found is None or step[0] <= found[0]]
        if before:
            fell, of_them = suspected_choices(what, [one for _, one in before], chances)
            p_value = min(p_value, of_them)
            found = found if fell is None else (before[fell.batch][0], fell.what)
    if found is not None:
        words = f"Iteration {found[0]}: {found[1]} ({trial.place})."
        return Decision("violated", words, measured, p_value)
    try:
        check_length(method, where.parameters, problem.n, spent)
    except Broken as error:
        raise type(error)(f"{where}: {error} ({trial.place})") from error
    if p_value <= _DOUBTFUL / len(method.sized):
        return Decision("inconclusive", "Its indices look dependent.", measured, p_value)
    if seen.more:
        return Decision("inconclusive", f"{MORE_WORK} ({seen.more}).", measured, p_value)
    right = "Every step, estimate, index and count is the source's."
    return Decision("holds", right, measured, p_value)


def _followed(
    trial: Trial, problem: Overheard, algorithm: Algorithm, method: Method, where: Setting
) -> tuple[list[Told], list[tuple[tuple[Asked, ...], bool]], tuple[int, str] | None]:
    """Return what a run told of each step, and what it asked of components for it.

    Last comes the iteration at which it was left, as it had cost more than a whole run, and what.
    """
    told, asked = list[Told](), list[tuple[tuple[Asked, ...], bool]]()
    s, over = where.parameters, ""
    some = [method.counts({**s, "heads": T}, problem.n) for T in (0, s.get("iterations", 0))]
    whole = [one for accepted in some for one in accepted]
    (seed,) = trial.seeds(1, "at size")
    try:
        for step in trial.follow(cast(Any, problem), algorithm, seed=seed):
            told.append(told_of(step))
            asked.append(problem.begin())
            over = beyond(told[-1].counts, whole)
            if over:
                break
    except Broken as error:
        raise type(error)(f"iteration {len(told)}: {error} ({trial.place})") from error
    if not told:
        raise Broken("it makes no step")
    return told, asked, (len(told) - 1, over) if over else None
