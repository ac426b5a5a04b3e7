"""Whether a run costs what its source says."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from pfbench.base.counts import Counts
from pfbench.base.protocols import Algorithm
from pfbench.verification.evidence import Evidence
from pfbench.verification.followed import Step
from pfbench.verification.instruments.waves import Waves
from pfbench.verification.laws.method import Method, Setting, Told, check_length, runnable, told_of
from pfbench.verification.statistics import Decision, all_of, decide_exact
from pfbench.verification.subject import Untestable
from pfbench.verification.trial import Trial

PATH = -1
"""Stands for a number that depends on the path."""

STRAYED = "an inner loop goes another way than its source prints"

MORE_WORK = "Not the source's count: more work, same guarantee"
"""What is said of an inner loop that stops later than it must."""

LESS_WORK = "Not the source's count: what its table stores once, it asks once"
"""What is said where a batch that renews a table is asked without repetitions."""

_EXACT = ("sfo", "sso", "hvp", "lo", "po", "fv")
"""Compared exactly. A full gradient may be asked as a batch of all components: FO is then less."""


def keeps_its_counts(trial: Trial, *, method: Method) -> Evidence:
    """Compare the counts of runs, when they have ended, with the source's formula."""
    parts, claimed = dict[str, Decision](), dict[str, float]()
    for one, algorithm in runnable(trial, method.counted):
        problem, coins = one.problem(), list[bool | None]()
        told, spent, untold = _followed(trial, problem, algorithm, coins)
        accepted = _accepted(method, one, problem.n, coins)
        check_length(method, one.parameters, problem.n, spent[:-1])
        parts[str(one)] = compared(spent[-1], accepted)
        if _spares(method, one, spent[-1], accepted[0]):
            words = f"{LESS_WORK} ({wrong(spent[-1], accepted[0]).rstrip('.')})."
            parts[str(one)] = replace(parts[str(one)], verdict="inconclusive", reason=words)
        if accepted[0].lo == PATH:
            after = spent[-1].lo - spent[-2].lo
            if after:
                words = f"It makes {after} LO after its last step."
                parts[f"{one}, LO"] = decide_exact(False, "", words, {})
            elif untold:
                parts[f"{one}, LO"] = Decision("inconclusive", f"LO: {untold}.", {}, None)
            else:
                parts[f"{one}, LO"] = _minimisations(method, one, problem, told)
        right = (one for one in accepted if not wrong(spent[-1], one))
        numbers = next(right, accepted[0]).as_dict()
        claimed |= {f"{one}: {kind}": numbers[kind] for kind in _EXACT if numbers[kind] != PATH}
    return Evidence(all_of(parts), claimed, len(parts))


def _accepted(
    method: Method, where: Setting, n: int, coins: Sequence[bool | None]
) -> tuple[Counts, ...]:
    """Return the counts that are right; of coins that are not told any number may fall heads."""
    told = [coin for coin in coins if coin is not None]
    heads = [told.count(True)] if told or "refresh" not in where.parameters else range(len(coins))
    each = (method.counts({**where.parameters, "heads": one}, n) for one in heads)
    return tuple(chain.from_iterable(each))


def _spares(method: Method, where: Setting, found: Counts, right: Counts) -> bool:
    """Return whether all that is less are repetitions in the second batch of a table's steps."""
    if method.stored_squares is None or "table_weight" in where.parameters:
        return False
    most = where.parameters["iterations"] * (where.parameters["batch"] - 1)
    fewer = right.sfo - found.sfo
    return 0 < fewer <= most and not wrong(replace(found, sfo=right.sfo), right)


def _followed(
    trial: Trial, problem: Waves, algorithm: Algorithm, coins: list[bool | None]
) -> tuple[list[Told], list[Counts], str]:
    """Return what a run told, what it had spent after each step and at its end, and what it lacks.

    Counts need no estimate: of a black box they are told, too. Coins that it told are appended.
    """
    told, spent, untold, steps = list[Told](), list[Counts](), "", list[Step]()
    for step in trial.follow(problem, algorithm, seed=1):
        steps.append(step)
        spent.append(step.counts())
        coins.append(step.state.coin)
        try:
            told.append(told_of(step))
        except Untestable as error:
            untold = str(error)
    final = [one.counts() for one in steps[-1:]]  # what was asked after the last state, too
    return told, [*spent, *final], untold


def compared(found: Counts, accepted: Sequence[Counts]) -> Decision:
    """Decide whether counts are among those that are right, with no more FO than these have."""
    shown = {kind: float(number) for kind, number in found.as_dict().items()}
    wrongs = [wrong(found, right) for right in accepted]
    return decide_exact("" in wrongs, "Every number is exact.", wrongs[0], shown)


def wrong(found: Counts, right: Counts) -> str:
    """Return what is wrong with counts; empty if nothing is."""
    for kind in _EXACT:
        if getattr(right, kind) not in (PATH, getattr(found, kind)):
            return f"{kind.upper()} is {getattr(found, kind)}, not {getattr(right, kind)}."
    return f"FO is {found.fo}, above {right.fo}." if found.fo > right.fo else ""


def between(found: Counts, least: Counts, most: Counts) -> bool:
    """Return whether counts lie between two that are right, kind by kind."""
    kinds = [kind for kind in _EXACT if getattr(least, kind) != PATH]
    inside = (getattr(least, k) <= getattr(found, k) <= getattr(most, k) for k in kinds)
    return all(inside) and found.fo <= most.fo


def beyond(found: Counts, whole: Sequence[Counts]) -> str:
    """Return which count of a run exceeds the most of whole ones; empty if none does."""
    for kind in ("fo", *_EXACT):
        spent, most = getattr(found, kind), max(getattr(one, kind) for one in whole)
        if spent > most != PATH:
            return f"{kind.upper()} is {spent}, above the {most} of a whole run"
    return ""


def _minimisations(
    method: Method, where: Setting, problem: Waves, told: Sequence[Told]
) -> Decision:
    """Decide whether each step needs as many linear minimisations as its source.

    One that stops later does more than its source, and keeps what that promises; one whose inner
    loop goes another way than the source prints is another method.
    """
    steps, more = 0, ""
    places = method.referee(problem, where.parameters, told)
    for t, (one, place) in enumerate(zip(told, places, strict=False)):
        if place.strays:
            return decide_exact(False, "", f"Step {t}: {STRAYED}.", {"steps": float(steps)})
        if place.minimisations is None:
            continue
        steps += 1
        words = f"step {t} makes {one.made} LO, not {place.minimisations}"
        if one.made < place.minimisations:
            wrong = f"{words[0].upper()}{words[1:]}."
            return decide_exact(False, "", wrong, {"steps": float(steps)})
        if one.made > place.minimisations:
            more = more or words
    measured = {"steps": float(steps)}
    if more:
        return Decision("inconclusive", f"{MORE_WORK} ({more}).", measured, None)
    return decide_exact(True, "Every number is exact.", "", measured)
