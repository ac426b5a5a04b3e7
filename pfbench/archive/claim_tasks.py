"""Results on the claims of an archive, as its author computes them and a checker recomputes them.

A checker calls these functions in confined processes that answer with JSON; see
`pfbench.archive.check`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

from pfbench.algorithms.base import get_parameters
from pfbench.base.errors import InputError, PfbenchError
from pfbench.base.selectors import Selector, module_name, replace_file_by_module
from pfbench.base.user_code import is_pfbench_module
from pfbench.claims.admissible import ADMISSIBLE
from pfbench.measures.catalogue import available_measures
from pfbench.problems.catalogue import build_problem
from pfbench.runs.engines.engine import Engine
from pfbench.runs.planning.plan import PlannedRun
from pfbench.verification.added_searches import add_report, search_claims_of_verdicts
from pfbench.verification.claim import Claim
from pfbench.verification.falsify.falsification import replay_counterexample
from pfbench.verification.falsify.reports import Counterexample, SearchReport
from pfbench.verification.faults.generate import generate_faults, sample_faults
from pfbench.verification.homogeneity import check_claim_units
from pfbench.verification.instances import with_other_data_seed
from pfbench.verification.replay.equivalence import find_equivalence
from pfbench.verification.session import judge
from pfbench.verification.statements.bound import Bound
from pfbench.verification.statements.error_law import ErrorLawCheck
from pfbench.verification.statements.exact_counts import ExactCounts
from pfbench.verification.statements.rate import RateCheck
from pfbench.verification.statements.setting import MethodOnProblem, draw_seeds
from pfbench.verification.subject import ClaimBroken, NotTestable, Subject
from pfbench.verification.trial import Trial, claim_method
from pfbench.verification.user_claims import load_claims, split_reference
from pfbench.verification.verdict import Verdict

_LEFT_OUT = ("search", "seconds", "before_shrinking", "script_path")
"""Fields of a counterexample that do not follow from its instance."""

STEPS = 3
"""Number of steps of a run that show which files user-defined code reads."""


def as_module_reference(reference: str) -> str:
    """Return MODULE or MODULE:NAME for FILE.py or FILE.py:NAME, without the file's folder."""
    home, attribute = split_reference(reference)
    module = module_name(f"{home}:")
    return replace_file_by_module(f"{module}:{attribute}") if attribute else module


def describe_claims(theorem: str, max_generated_faults: int) -> dict[str, Any]:
    """Return descriptions of a theorem's claims, and names of their faults.

    The result is a dict of JSON data. Faults are planted by hand or generated.

    Parameters
    ----------
    theorem
        FILE.py, FILE.py:NAME, MODULE or MODULE:NAME.
    max_generated_faults
        Maximum number of generated faults for each method.
    """
    paper = load_claims(theorem)
    methods = dict.fromkeys(claim_method(claim) for claim in paper.claims if claim.algorithm)
    faults = [
        fault
        for method in methods
        for fault in (
            sample_faults(generate_faults(method), max_generated_faults)
            if max_generated_faults
            else ()
        )
    ]
    return {
        "claims": [_describe_claim(claim) for claim in paper.claims],
        "planted": [mutant.name for mutant in paper.mutants],
        "generated": [
            [fault.name, next((entry.reason for entry in ADMISSIBLE if entry.covers(fault)), None)]
            for fault in faults
        ],
    }


def _describe_claim(claim: Claim) -> dict[str, Any]:
    units = check_claim_units(claim)
    return {
        "name": claim.name,
        "source": claim.source,
        "kind": claim.kind,
        "statement": claim.statement,
        "method": claim.method,
        "assumptions": list(claim.assumptions),
        "disputed": claim.disputed,
        "homogeneous": units.homogeneous,
        "normalised": units.normalised,
    }


def start_claims(theorem: str) -> None:
    """Build the instances of claims, and start their runs."""
    for claim in load_claims(theorem).claims:
        for instance in claim.instances:
            instance.example()
        for _, _, make_case in iterate_cases(claim):
            with suppress(ClaimBroken, NotTestable):
                case = make_case(0)
                for _ in islice(Trial(claim).follow(case.problem, case.algorithm), STEPS):
                    pass


def search_and_add_counterexamples(
    rows: Sequence[Verdict], engine: Engine, effort: str, seed: int
) -> tuple[list[Verdict], list[Mapping[str, Any]]]:
    """Search for counterexamples to user-defined bounds and error laws.

    Return the verdicts with the results of the search, and the counterexamples as JSON data.
    """

    def is_archived(row: Verdict) -> bool:
        source = row.claim.user_source
        return source is not None and not is_pfbench_module(source.file_or_module)

    reports = search_claims_of_verdicts(rows, engine, effort, seed, is_archived)
    counterexamples = {index: report for index, report in reports.items() if report}
    return [add_report(row, counterexamples.get(index)) for index, row in enumerate(rows)], [
        *map(_describe_counterexample, counterexamples.values())
    ]


def _describe_counterexample(report: SearchReport) -> dict[str, Any]:
    """Return the fields of a counterexample that are determined by its instance, as JSON data."""
    return {name: value for name, value in report.as_json().items() if name not in _LEFT_OUT}


def recompute_counterexample(theorem: str, record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Recompute a counterexample from its instance; return it, or a report on why that fails.

    The recorded assumptions are dropped, because an assumption that the checker does not understand
    confirms nothing.
    """
    name = record["claim"]
    try:
        report = replay_counterexample(_claim(theorem, name), {**record, "assumptions": {}})
    except InputError as error:
        report = SearchReport(claim=name, reason=str(error))
    return _describe_counterexample(report)


def _claim(theorem: str, name: str) -> Claim:
    return next(claim for claim in load_claims(theorem).claims if claim.name == name)


def recompute_verdict(
    theorem: str, name: str, effort: str, seed: int, records: Sequence[Mapping[str, Any]] = ()
) -> Mapping[str, Any]:
    """Return the recomputed verdict on a claim, given the stored counterexamples to it."""
    verdict = judge(_claim(theorem, name), effort=effort, seed=seed)
    for record in records:
        verdict = add_report(verdict, Counterexample(**record))
    return verdict.as_json()


def describe_failure_with_other_data(theorem: str, name: str, effort: str, seed: int) -> str:
    """Test a claim on renamed instances with other data; return a sentence if it fails, else ""."""
    claim = _claim(theorem, name)
    called = f"problem-{seed:x}"
    instances = tuple(with_other_data_seed(instance, seed, called) for instance in claim.instances)
    verdict = judge(replace(claim, instances=instances, user_source=None), effort=effort, seed=seed)
    if not verdict.is_violated_or_lost:
        return ""
    return (
        f"on renamed instances with other data, {name} is {verdict.verdict}: "
        f"{verdict.reason.rstrip('.')}"
    )


def is_fault_confirmed(theorem: str, fault: Sequence[str], effort: str, seed: int) -> bool:
    """Return whether a claim catches the fault or, if no claim is named, the fault has no effect.

    Parameters
    ----------
    fault
        The method (empty for a planted fault), the fault and the claim (or empty), by name.
    """
    method, name, claim = fault
    paper = load_claims(theorem)
    claims = [item for item in paper.claims if item.name == claim or (item.algorithm and not claim)]
    if not method:
        subject = next(mutant for mutant in paper.mutants if mutant.name == name).subject
        return judge(claims[0], subject, effort, seed).catches_fault
    generated = next(fault for fault in _faults(claims) if fault.name == name)
    if not claim:
        return bool(find_equivalence(generated))
    return judge(claims[0], Subject(generated), effort, seed).catches_fault


def _faults(claims: Sequence[Claim]) -> Iterator[Any]:
    for claim in claims:
        yield from generate_faults(claim_method(claim))


def list_claim_runs(theorem: str, seed: int) -> list[Mapping[str, Any]]:
    """Return the planned runs that belong in an archive of a theorem, as JSON data."""
    return [plan.as_json() for plan in plan_claim_runs(load_claims(theorem).claims, seed)]


SEEDS = 20
"""Number of runs of a setting that is random."""

Case = tuple[str, Any, Callable[[int], MethodOnProblem]]
"""Label of a setting, its instance, and a function from a data seed to its case."""


def iterate_cases(claim: Claim) -> Iterator[Case]:
    """Yield a label, an instance and a function that builds the case, for each setting of a claim.

    Nothing is yielded if the check of the claim states no setting.
    """
    check, trial = claim.check, Trial(claim)
    for instance in claim.instances:
        if isinstance(check, RateCheck):
            for value in check.values:
                label = f"{instance.name}, {check.varied_parameter} = {value:g}"
                yield label, instance, partial(check.make_case, trial, instance, value)
        elif isinstance(check, Bound | ExactCounts | ErrorLawCheck):
            for name, setting in check.settings.items():
                make = partial(_make_case, setting, trial, instance)
                yield f"{instance.name} {name}".rstrip(), instance, make


def _make_case(setting: Any, trial: Trial, instance: Any, data: int) -> MethodOnProblem:
    case: MethodOnProblem = setting.make_case(trial, instance.build_seeded(data))
    return case


def plan_claim_runs(claims: Sequence[Claim], seed: int) -> list[PlannedRun]:
    """Return the planned runs of claims for one seed, without duplicates."""
    plans: dict[PlannedRun, None] = {}
    for claim in claims:
        for _, instance, make_case in iterate_cases(claim):
            for data, run_seed in draw_seeds(Trial(claim, seed=seed), instance, SEEDS):
                plan = _plan(claim, make_case, data, run_seed)
                if plan is None:
                    break
                plans[plan] = None
    return list(plans)


def _plan(
    claim: Claim, make_case: Callable[[int], MethodOnProblem], data: int, seed: int
) -> PlannedRun | None:
    try:
        case = make_case(data)
    except (ClaimBroken, NotTestable, PfbenchError):
        return None
    problem, method = _problem_selector(case.problem), _method_selector(case.algorithm)
    if not problem or not method or not getattr(case.algorithm, "iterations", None):
        return None
    quantity = getattr(claim.check, "quantity", "")
    available = {*available_measures(case.problem)} & {str(quantity), "value"}
    return PlannedRun(problem, method, seed, tuple(sorted(available)), 1)


def _problem_selector(problem: Any) -> str:
    """Return a selector that builds an equal problem; an empty string if none does."""
    if not is_pfbench_module(type(problem).__module__):
        return ""
    try:
        text = str(Selector(problem.name, problem.parameters))
        return text if build_problem(Selector.parse(text)).digest == problem.digest else ""
    except (PfbenchError, AttributeError):
        return ""


def _method_selector(algorithm: Any) -> str:
    """Return a selector that builds an equal method; an empty string if none does."""
    kind = type(algorithm)
    parameters = {k: v for k, v in get_parameters(algorithm).items() if v is not None}
    if "." in kind.__qualname__ or not all(
        isinstance(value, bool | int | float | str) for value in parameters.values()
    ):
        return ""
    own = not is_pfbench_module(kind.__module__)
    name = f"{kind.__module__}:{kind.__qualname__}" if own else algorithm.name
    text = str(Selector(name, parameters))
    same = {k: type(v) for k, v in Selector.parse(text).parameters.items()}
    return text if same == {k: type(v) for k, v in parameters.items()} else ""
