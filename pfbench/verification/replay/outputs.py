"""Checks of the output of a method: the declared rule, and the distribution of random outputs."""

from collections.abc import Sequence
from dataclasses import MISSING, fields
from typing import Any

import numpy as np

from pfbench.algorithms.base import Algorithm
from pfbench.base.arrays import Floats
from pfbench.base.state import State
from pfbench.base.status import Verdict
from pfbench.verification.replay.forms import list_method_forms
from pfbench.verification.replay.matching import VALUE_TOLERANCE
from pfbench.verification.replay.recorded_run import Transcript
from pfbench.verification.replay.replay_instances import (
    ReplayCase,
    list_problem_kinds,
    make_instance,
    with_horizon,
)
from pfbench.verification.statistics import Decision, decide_uniform
from pfbench.verification.subject import MethodFailed, NotTestable, select_accepted
from pfbench.verification.trial import Trial

_HORIZON = 3_000
"""Number of iterations up to which weights are compared."""

_RUNS = ((400, 3), (400, 8), (200, 130), (44, 2000))
"""Numbers of runs, and of their iterations, that test the law of a reported output."""

_PARTS = 4
"""Number of equally likely parts of a run in which outputs are counted."""

_RIGHT = Decision("holds", "Its output is declared as the reference's.", {}, None)


def decide_output_distribution(trial: Trial, method: Any) -> Decision | None:
    """Decide whether a method's output is distributed as in its reference implementation.

    Return None if the method does not accept the parameters of the test.

    Parameters
    ----------
    trial
        Context of the check, with the method under test.
    method
        The class of the built-in method.
    """
    first = list_method_forms(method)[0]
    if set(first) - set(
        select_accepted(trial.algorithm, (*first,), method.list_required_parameters())
    ):
        return None
    try:
        short, long = (
            (trial.make(**with_horizon(method, first, T)), method(**with_horizon(method, first, T)))
            for T in (8, _HORIZON)
        )
    except NotTestable:
        return None
    # The default rule is the reference's only if the other defaults are.
    is_default_compared = "output" in select_accepted(trial.algorithm, ("output",)) and all(
        repr(getattr(short[0], f.name, f.default)) == repr(f.default)
        for f in fields(method)
        if f.name not in (*first, "output") and f.default is not MISSING
    )
    reported = _decide_reported_output_law(trial, method, first, is_default_compared)
    if wrong := _describe_wrong_declared_output(
        trial, method, first, short, long, is_default_compared and reported is None
    ):
        return Decision("violated", f"{wrong} (repeat: {trial.command}).", {}, None)
    return reported or _RIGHT


def _describe_wrong_declared_output(
    trial: Trial, method: Any, first: Any, short: Any, long: Any, is_default_compared: bool
) -> str:
    """Describe how the declared output rule differs from the reference rule; return "" if equal.

    A class that inherits the equal weights is tested with output=weighted only if this is its
    default.
    """
    outputs = [getattr(item[0], "output", None) for item in (short, long)]
    if outputs[0] != outputs[1]:
        return f"the method declares output={outputs[1]} for T={_HORIZON}, and {outputs[0]} for T=8"
    if is_default_compared and outputs[0] != short[1].output:
        return f"the default output is {outputs[0]}, but {short[1].output} in the reference"
    pairs = [short, long]
    if "output" in select_accepted(trial.algorithm, ("output",)):
        for output in ("last", "uniform", "weighted"):
            parameters = {**with_horizon(method, first, 8), "output": output}
            try:
                pairs.append((trial.make(**parameters), method(**parameters)))
            except NotTestable:
                continue
            if getattr(pairs[-1][0], "output", output) != output:
                return f"the method declares {pairs[-1][0].output} where output={output} is set"
    for created, right in pairs:
        weight = getattr(created, "output_weight", None)
        is_inherited = getattr(weight, "__func__", None) is Algorithm.output_weight
        is_compared = weight is not None and (outputs[0] == "weighted" or not is_inherited)
        if getattr(created, "output", None) != "weighted" or not is_compared:
            continue
        if wrong := _describe_weight_difference(weight, right.output_weight):
            return wrong
    return ""


def _describe_weight_difference(weight: Any, right: Any) -> str:
    try:
        first, expected = float(weight(1)), float(right(1))
        for k in (*range(1, 60), *range(60, _HORIZON, 7)):
            ratio = float(weight(k)) / first * expected / float(right(k))
            if not abs(ratio - 1.0) <= VALUE_TOLERANCE:
                times = f"{ratio:.6g} times the reference's"
                return f"iteration {k}: its weight in the draw of the output is {times}"
    except Exception as error:  # user code
        raise MethodFailed(f"output_weight raised {type(error).__name__}: {error}") from error
    return ""


def _decide_reported_output_law(
    trial: Trial, method: Any, first: Any, is_default_compared: bool
) -> Decision | None:
    """Decide whether the outputs that a method yields are distributed as in the reference.

    Return None if the method raises or yields no output, or if the reference yields one, too. Runs
    that end without an output are left out. Unless `is_default_compared`, the outputs may also have
    the law that the method declares.
    """
    kind = list_problem_kinds(method)[0]
    decisions = list[Decision]()
    for runs, T in _RUNS:
        case = ReplayCase(make_instance(kind), with_horizon(method, first, T))
        algorithm, right = trial.make(**case.parameters), method(**case.parameters)
        own = _output_of_last_state(case.record(right))
        declared = right if is_default_compared else algorithm
        options = dict.fromkeys((getattr(declared, "output", right.output), right.output))
        locations: dict[str, list[int]] = {output: [] for output in options}
        rng, parts = trial.rng(f"output {T}"), min(T, _PARTS)
        for seed in trial.seeds(runs, f"output {T}"):
            transcript = case.record(algorithm, seed=seed, subject=trial.subject)
            output = _output_of_last_state(transcript)
            if output is None or own is not None or transcript.error is not None:
                break
            for law, location in locations.items():
                location.append(_find_group_of_output(transcript, output, law, right, parts, rng))
        else:
            results = [decide_uniform(results, parts) for results in locations.values()]
            order = ("violated", "inconclusive", "holds")
            best = max(results, key=lambda decision: order.index(decision.verdict))
            if best.verdict == Verdict.VIOLATED:
                words = f"{case}: the reported output has another distribution than the reference's"
                return Decision("violated", f"{words} (repeat: {trial.command}).", {}, best.p_value)
            decisions.append(best)
    return max(decisions, key=lambda decision: decision.verdict != Verdict.HOLDS, default=None)


def _output_of_last_state(transcript: Transcript) -> Floats | None:
    states: Sequence[State] = transcript.states
    return None if not states or states[-1].output is None else np.asarray(states[-1].output)


def _find_group_of_output(
    transcript: Transcript, output: Floats, law: str, reference_method: Any, groups: int, rng: Any
) -> int:
    """Return the index of the group of iterates that contains the output; -1 if none does.

    There are `groups` groups, and `law` is the output rule. If several points equal the
    output, one of them is drawn by their probabilities. All groups thus stay equally likely.
    """
    T = len(transcript.states)
    if law == "last":
        points, weights = [transcript.states[-1].x], np.ones(1)
    else:
        points = [transcript.estimate_point(t) for t in range(T)]
        weight = reference_method.output_weight if law == "weighted" else lambda t: 1.0
        weights = np.array([weight(t + 1.0) for t in range(T)])
    limit = VALUE_TOLERANCE * transcript.max_point_entry
    same = np.flatnonzero([float(np.abs(point - output).max()) <= limit for point in points])
    if not same.size:
        return -1
    k = rng.choice(same, p=weights[same] / weights[same].sum())
    location = (weights[:k].sum() + rng.random() * weights[k]) / weights.sum()
    return min(groups - 1, int(groups * location))
