"""Whether a run costs what its source says."""

from collections.abc import Sequence

from pfbench.base.counts import Counts
from pfbench.verification.evidence import Evidence
from pfbench.verification.instruments.waves import Waves
from pfbench.verification.laws.method import Method, Setting, Told, check_length, follow, runnable
from pfbench.verification.statistics import Decision, all_of, decide_exact
from pfbench.verification.trial import Trial

PATH = -1
"""Stands for a number that depends on the path."""

_EXACT = ("sfo", "sso", "hvp", "lo", "po", "fv")
"""Compared exactly. A full gradient may be asked as a batch of all components: FO is then less."""


def keeps_its_counts(trial: Trial, *, method: Method) -> Evidence:
    """Compare the counts of runs with the source's formula."""
    parts, claimed = dict[str, Decision](), dict[str, float]()
    for one, algorithm in runnable(trial, method.counted):
        problem = one.problem()
        told = follow(trial, problem, algorithm, seed=1)
        check_length(method, one.parameters, told, problem.n)
        accepted = method.counts(one.parameters, problem.n)
        parts[str(one)] = _compared(told[-1].counts, accepted)
        if accepted[0].lo == PATH:
            parts[f"{one}, LO"] = _minimisations(method, one, problem, told)
        numbers = accepted[0].as_dict()
        claimed |= {f"{one}: {kind}": numbers[kind] for kind in _EXACT if numbers[kind] != PATH}
    return Evidence(all_of(parts), claimed, len(parts))


def _compared(found: Counts, accepted: Sequence[Counts]) -> Decision:
    """Decide whether counts are among those that are right, with no more FO than these have."""
    shown = {kind: float(number) for kind, number in found.as_dict().items()}
    wrongs = [_wrong(found, right) for right in accepted]
    return decide_exact("" in wrongs, "Every number is exact.", wrongs[0], shown)


def _wrong(found: Counts, right: Counts) -> str:
    """Return what is wrong with counts; empty if nothing is."""
    for kind in _EXACT:
        if getattr(right, kind) not in (PATH, getattr(found, kind)):
            return f"{kind.upper()} is {getattr(found, kind)}, not {getattr(right, kind)}."
    return f"FO is {found.fo}, above {right.fo}." if found.fo > right.fo else ""


def _minimisations(
    method: Method, where: Setting, problem: Waves, told: Sequence[Told]
) -> Decision:
    """Decide whether each step needs as many linear minimisations as its source."""
    before, steps = 0, 0
    for t, (one, place) in enumerate(
        zip(told, method.referee(problem, where.parameters, told), strict=False)
    ):
        found, before = one.counts.lo - before, one.counts.lo
        if place.minimisations is None:
            continue
        steps += 1
        if found != place.minimisations:
            wrong = f"Step {t} makes {found} LO, not {place.minimisations}."
            return decide_exact(False, "", wrong, {"steps": float(steps)})
    return decide_exact(True, "Every number is exact.", "", {"steps": float(steps)})
