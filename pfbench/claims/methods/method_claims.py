"""Claims about every built-in method: its runs, random draws, oracle counts and schedule."""

import tomllib
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pfbench.algorithms.catalogue import ALGORITHMS
from pfbench.claims.methods import frank_wolfe_schedules, proximal_schedules, sliding_schedules
from pfbench.verification import Claim
from pfbench.verification.replay import replay_checks
from pfbench.verification.replay.replay_instances import make_small_instances
from pfbench.verification.schedules import WANTED, PublishedSchedule, check_published_schedule

_STATED: Mapping[str, tuple[str, str, Any, tuple[float, float]]] = MappingProxyType(
    {
        "run": (
            "identity",
            "given its draws, every step, estimate, output and query is the reference's",
            replay_checks.compare_runs_with_reference,
            (4.0, 12.0),
        ),
        "law": (
            "law",
            "batches, coins, picks and the output are drawn as the reference draws them",
            replay_checks.compare_draws_with_reference,
            (5.0, 5.0),
        ),
        "count": (
            "count",
            "a run costs what the reference costs",
            replay_checks.compare_counts_with_reference,
            (0.5, 0.5),
        ),
    }
)
"""For each tested part: kind, statement, check, and quick and full duration in seconds."""

_FORMER = MappingProxyType({"estimate": "run", "steps": "run"})
"""Former tested parts, each with the one that covers it now."""

_FAMILIES = (frank_wolfe_schedules, sliding_schedules, proximal_schedules)

_ATTRIBUTIONS = tomllib.loads(Path(__file__).with_name("schedules.toml").read_text("utf-8"))


def _find_published_schedule(name: str) -> PublishedSchedule:
    """Return the published schedule of a method: the function ``NAME_schedule`` of a family."""
    function = f"{name.replace('-', '_')}_schedule"
    family = next(family for family in _FAMILIES if hasattr(family, function))
    requests = family.REQUESTS.get(name, WANTED)
    return PublishedSchedule(getattr(family, function), _ATTRIBUTIONS[name], requests)


SCHEDULES: Mapping[str, PublishedSchedule] = MappingProxyType(
    {name: _find_published_schedule(name) for name in _ATTRIBUTIONS}
)
"""The published schedules, by the name of the method."""


def _claims_about_methods() -> Iterator[Claim]:
    """Yield all claims about the built-in methods, method by method."""
    for name, method in ALGORITHMS.items():
        for key, (kind, statement, check, takes) in _STATED.items():
            yield Claim(
                name=f"methods-{key}-{name}",
                source=method.source,
                kind=kind,
                statement=statement,
                check=partial(check, name=name),
                instances=tuple(make_small_instances(method)),
                algorithm=name,
                needs_seed=True,
                assumptions=("f_i smooth",),
                expected_seconds=takes,
            )
        if name in SCHEDULES:
            yield Claim(
                name=f"methods-schedule-{name}",
                source=method.source,
                kind="identity",
                statement=f"the schedule for an accuracy: {SCHEDULES[name].attribution}",
                check=partial(check_published_schedule, published=SCHEDULES[name]),
                instances=tuple(make_small_instances(method)),
                algorithm=name,
                assumptions=("f_i smooth",),
                schedule="that of the statement",
                expected_seconds=(0.02, 0.02),
                scale_dependence=method.scale_dependence,
            )


CLAIMS = tuple(_claims_about_methods())


def current_claim_name(name: str) -> str:
    """Return the current name of a claim, given its current or a former name."""
    for former, present in _FORMER.items():
        name = name.replace(f"methods-{former}-", f"methods-{present}-", 1)
    return name
