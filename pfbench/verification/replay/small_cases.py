"""Search for a small case, checkable by hand, on which a method differs from its reference."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import product
from types import MappingProxyType
from typing import Any

from pfbench.algorithms.catalogue import ALGORITHMS
from pfbench.base.errors import InputError, PfbenchError
from pfbench.base.selectors import Selector
from pfbench.verification.claim import Claim
from pfbench.verification.replay.follow import compare_transcript_with_reference
from pfbench.verification.replay.forms import NEEDED
from pfbench.verification.replay.problems import BUILDERS, Shape
from pfbench.verification.replay.replay_instances import ReplayCase, Values, make_case
from pfbench.verification.subject import NotTestable
from pfbench.verification.trial import Trial

MAX_QUERIES = 4_000
"""Number of oracle queries after which a search ends; they take about two seconds."""

_ITERATIONS, _COMPONENTS, _ENTRIES, _SEEDS = 6, 3, 6, 3
"""Numbers of iterations, components, entries of a point, and data sets that are tried."""

_STEP = 0.5

_SIZES: Mapping[str, tuple[int, ...]] = MappingProxyType(
    {
        "batch": (1, 2),
        "period": (1, 2, 3),
        "restarts": (1, 2),
        "snapshot": (1, 2),
        "subepochs": (1, 2),
    }
)
"""Values of the integer parameters that are tried."""


def restrict_to_case(claim: Claim, values: Values) -> Claim:
    """Restrict a claim about a method's runs to the test case `values`, and return the claim.

    Raises
    ------
    InputError
        If it is another claim, or the values describe no case of the method.
    """
    if not claim.name.startswith("methods-run-"):
        raise InputError(f"{claim.name} takes no parameters: remove the brackets.")
    selector = Selector.parse(str(Selector(claim.name, values)))  # as the command line reads it
    make_case(ALGORITHMS[claim.method], selector.parameters)
    check: Any = claim.check
    values = dict(selector.parameters)
    return replace(claim, name=str(selector), check=partial(check, values=values))


def find_smallest_mismatch(trial: Trial, case: ReplayCase) -> Claim | None:
    """Return the claim restricted to the smallest case found where method and reference differ.

    The built-in method agrees with its reference on this case. Return None if no case is found.

    Parameters
    ----------
    trial
        Context of the check, with the method under test.
    case
        Case on which the method differs; the kind of its set and its options are kept.
    """
    method = ALGORITHMS[trial.claim.method]
    best, best_size, queries = None, math.inf, 0
    waiting = sorted(_iterate_small_case_parameters(method, case), key=_case_size)[::-1]
    while waiting and queries < MAX_QUERIES:
        values = waiting.pop()
        T = values.get("iterations", 1)
        if _case_size(values) - T + 1 >= best_size:
            break
        try:
            small = replace(trial, claim=restrict_to_case(trial.claim, values))
            tested = make_case(method, values)
            right, algorithm = method(**tested.parameters), small.make(**tested.parameters)
        except (NotTestable, PfbenchError):
            continue
        (run_seed,) = small.seeds(1, "run")
        own = tested.record(right, seed=run_seed)
        transcript = tested.record(algorithm, seed=run_seed, subject=trial.subject)
        queries += len(transcript.queries)
        if own.error or transcript.error:
            continue
        outcome = compare_transcript_with_reference(transcript, right)
        if not outcome.is_mismatch or outcome.has_fewer_states:
            continue
        if _case_size(values) < best_size:
            accepted = compare_transcript_with_reference(own, right)
            if accepted.agrees:
                best, best_size = small.claim, _case_size(values)
        if outcome.steps + 1 < T:
            waiting.append({**values, "iterations": outcome.steps + 1})
    return best


def _iterate_small_case_parameters(method: Any, case: ReplayCase) -> Iterator[Values]:
    """Yield the values of small test cases on the same kind of set as `case`, quadratics first.

    They have two or more components if the method draws some: batches of one component are then
    distinct from full gradients.
    """
    kind = next((kind for kind, build in BUILDERS.items() if build is case.problem.build), "")
    if not kind:
        return
    options = {
        name: value
        for name, value in case.problem.parameters.items()
        if name not in ("shape", "n", "seed")
    }
    parameters = dict(case.parameters)
    if "iterations" in parameters:
        parameters["iterations"] = min(_ITERATIONS, parameters["iterations"])
    if parameters.get("step") == NEEDED["step"]:
        parameters["step"] = _STEP
    names = [name for name in _SIZES if isinstance(parameters.get(name), int)]
    min_components = 1 if method.deterministic else min(2, case.problem().n)
    for is_quadratic, shape, n, seed, *sizes in product(
        (True, False),
        _iterate_shapes_to_limit(case.problem.parameters["shape"], kind),
        range(min_components, _COMPONENTS + 1),
        range(_SEEDS),
        *map(_SIZES.__getitem__, names),
    ):
        yield {
            "kind": kind,
            "shape": shape,
            "n": n,
            **options,
            **({"is_quadratic": True} if is_quadratic else {}),
            **({"radius": 1.0} if kind == "cube" else {}),
            **({"seed": seed} if seed else {}),
            **parameters,
            **dict(zip(names, sizes, strict=True)),
        }


def _iterate_shapes_to_limit(shape: Shape, kind: str) -> Iterator[str]:
    """Yield the shapes no larger than `shape` with at most `_ENTRIES` entries, as text like "2x3".

    Vectors with a norm have an even length; see `vector_norm_ball`.
    """
    multiple = 2 if kind == "normed" and len(shape) == 1 else 1
    for smaller in product(*(range(multiple, length + 1, multiple) for length in shape)):
        if math.prod(smaller) <= _ENTRIES:
            yield "x".join(map(str, smaller))


def _case_size(values: Values) -> float:
    """Return a measure of a case's size, by which cases are ordered: the sum of its integers.

    Cases without simple numbers count as larger.
    """
    entries = math.prod(map(int, str(values["shape"]).split("x")))
    names = ("n", "seed", "iterations", *_SIZES)
    simple = 0 if "is_quadratic" in values else _ITERATIONS
    return float(entries + sum(values.get(name, 0) for name in names) + simple)
