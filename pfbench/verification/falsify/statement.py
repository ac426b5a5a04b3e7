"""A bound of a claim under one setting: its conditions, and the method on a searched instance."""

import ast
import math
import re
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from itertools import islice
from time import monotonic
from typing import Any

import numpy as np

from pfbench.base.errors import InputError
from pfbench.base.state import State
from pfbench.verification.claim import Claim
from pfbench.verification.falsify.searched_set import Skip
from pfbench.verification.homogeneity import check_claim
from pfbench.verification.statements.bound import Bound
from pfbench.verification.statements.error_law import ErrorLaw
from pfbench.verification.statements.quantity import is_count
from pfbench.verification.statements.setting import ClaimSetting, ParameterNamespace, has_schedule
from pfbench.verification.subject import instantiate_with_parameters
from pfbench.verification.trial import claim_method

_SUBJECT = r"(?:(?:f|f_i|each f_i|all f_i|the function|components?|each component) )?"
_PREDICATES: Mapping[str, Callable[[Any], bool]] = {
    rf"{_SUBJECT}(?:is |are )?(?:l-)?smooth|unbiased|finite sum": lambda problem: True,
    r"(?:f |the function )?(?:is )?(?:non-?convex|not convex)": lambda problem: True,
    r"(?:f |the function )?(?:is )?strongly convex": lambda p: p.bounds.get("mu") is not None,
    r"(?:f |the function )?(?:is )?convex": lambda problem: problem.is_convex,
    r"(?:each |all )?(?:f_i|components?)(?: is| are)? convex|convex components?": (
        lambda problem: problem.components_convex
    ),
    r"bounded domain|compact (?:set|domain)": lambda problem: problem.set.kind != "none",
}
"""Assumptions in words, by pattern of the whole text, with a predicate of a searched instance."""

_COMPARISON = (
    *(ast.Expression, ast.Compare, ast.BinOp, ast.UnaryOp, ast.Name, ast.Constant, ast.Load),
    *(ast.operator, ast.unaryop, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq),
)


def parse_assumption(text: str) -> Callable[[Any], bool] | None:
    """Return the predicate of an assumption in words; None if a part is not in the vocabulary."""
    rules = [
        next((rule for words, rule in _PREDICATES.items() if re.fullmatch(words, part)), None)
        for part in (part.strip() for part in re.split(r",| and ", text.lower().strip(" .")))
    ]
    return None if None in rules else lambda p: all(rule(p) for rule in rules if rule is not None)


def parse_comparison(text: str) -> ast.Expression | None:
    """Return a comparison of constants and parameters; None if the text is no comparison."""
    try:
        tree = ast.parse(text, mode="eval")
    except SyntaxError:
        return None
    is_allowed = all(isinstance(node, _COMPARISON) for node in ast.walk(tree))
    return tree if is_allowed and isinstance(tree.body, ast.Compare) else None


def _evaluate_comparison(tree: ast.Expression, lookup: Callable[[str], Any]) -> bool:
    """Return whether a comparison is true; an unknown name skips the instance."""
    for node in ast.walk(tree):  # integers only, so that a quotient stays exact
        if isinstance(node, ast.Constant) and isinstance(node.value, float):
            raise Skip("a comparison with a float")
    names = {node.id: lookup(node.id) for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return bool(eval(compile(tree, "<condition>", "eval"), {"__builtins__": {}}, names))


class UnsearchableError(InputError):
    """A claim that cannot be searched, with the reason."""


@dataclass(frozen=True)
class SearchedStatement:
    """A bound, or an error law, of a claim, under one label and setting."""

    claim: Claim
    label: str
    setting: ClaimSetting
    bound: Callable[..., Any] | None
    allowed: tuple[str, ...] = ()

    @property
    def check(self) -> Any:
        """The claim's check."""
        return self.claim.check

    @property
    def statistic(self) -> str:
        """Over which points the bound is stated; "law" for an error law."""
        return "law" if self.bound is None else str(self.check.statistic)

    @property
    def is_for_each_run(self) -> bool:
        """Whether the bound is on every run, with a bound for every t."""
        return self.statistic in ("every", "step", "least")

    @property
    def method(self) -> Any:
        """The method, a class or an object."""
        return claim_method(self.claim)

    @property
    def is_deterministic(self) -> bool:
        """Whether the method draws nothing."""
        return bool(getattr(self.method, "deterministic", False))

    @property
    def is_expectation(self) -> bool:
        """Whether the bound is on a mean over draws."""
        return self.statistic in ("mean", "last", "output") and not self.is_deterministic

    @property
    def horizon(self) -> tuple[str, int] | None:
        """The name and the value of the parameter that sets the number of steps."""
        return self.setting.horizon("quick")

    @property
    def conditions(self) -> tuple[str, ...]:
        """All that claim and method assume."""
        return tuple(dict.fromkeys((*self.claim.assumptions, *getattr(self.method, "assumes", ()))))

    def unknown_conditions(self) -> tuple[str, ...]:
        """Return the assumptions that are neither in the vocabulary nor comparisons."""
        return tuple(
            text
            for text in self.conditions
            if not (parse_assumption(text) or parse_comparison(text) or text in self.allowed)
        )

    def assumes(self, word: str) -> bool:
        """Return whether an assumption has a word: "convex", "strongly", "component"."""
        return any(word in text for text in self.conditions)


def list_statements(claim: Claim, allowed: tuple[str, ...] = ()) -> list[SearchedStatement]:
    """Return each bound of a claim with each setting.

    Raises
    ------
    UnsearchableError
        If it is no bound or error law, or bounds counts of calls.
    """
    check = claim.check
    if isinstance(check, ErrorLaw):
        return [SearchedStatement(claim, "", check.setting, None, allowed)]
    if not isinstance(check, Bound):
        kind = f"{claim.name} is a {claim.kind}"
        raise UnsearchableError(f"{kind}: only bounds and error laws are searched.")
    if is_count(check.quantity):
        raise UnsearchableError(f"{claim.name} bounds counts, which follow from the schedule.")
    output = getattr(claim_method(claim), "output", "last")
    if output not in ("last", "uniform") and check.statistic == "output":
        raise UnsearchableError(f"{claim.name} has a weighted output.")
    return [
        SearchedStatement(claim, ", ".join(filter(None, (key, label))), setting, bound, allowed)
        for label, setting in check.settings.items()
        for key, bound in check.bounds.items()
    ]


def lint_claim(claim: Claim) -> tuple[str, ...]:
    """Return remarks on a claim before any search, a sentence each."""
    check: Any = claim.check
    if not isinstance(check, Bound) or is_count(check.quantity):
        return ()
    remarks, text, method = [], claim.statement, claim_method(claim)
    pattern = r"\b(exists?|for some|there is|eventually|sufficiently|large enough)\b"
    if words := re.search(pattern, text.lower()):
        remarks.append(f'The statement says "{words[0]}"; the search takes every T and instance.')
    if any(setting.horizon("quick") is None for setting in check.settings.values()):
        remarks.append("The number of steps is fixed: let `parameters` be a function of T.")
    is_mean = re.search(r"\bE\b|E\[|\bexpect|\bmean\b", text)
    is_random = not getattr(method, "deterministic", False)
    if is_mean and is_random and check.statistic in ("every", "step", "least"):
        remarks.append(
            f'The statement is about an expectation; statistic="{check.statistic}" tests each '
            'run: use "mean", "last" or "output".'
        )
    codes = [getattr(function, "__code__", None) for function in check.bounds.values()]
    numbers = {v for code in codes if code for v in code.co_consts if isinstance(v, float)}
    if unnamed := [f"{v:g}" for v in sorted(numbers) if len(f"{v:g}".strip("0.")) > 3]:
        remarks.append(f"The bound has a constant without a name: {', '.join(unnamed)}.")
    assumptions = " ".join((*claim.assumptions, *getattr(method, "assumes", ())))
    if any("mu" in code.co_names for code in codes if code) and "strong" not in assumptions:
        remarks.append("The bound has mu; no assumption says that f is strongly convex.")
    elif check.quantity == "suboptimality" and "convex" not in assumptions:
        remarks.append("The bound is on f - min f; no assumption says that f is convex.")
    if claim.instances and not claim.scale_dependence:
        units = check_claim(claim)
        if units.homogeneous is False:
            remarks.append(f"The bound depends on the units of f and x ({units.description}).")
    return tuple(remarks)


class SearchedOracles:
    """The oracles of a searched instance."""

    def __init__(self, problem: Any) -> None:
        self.n, self.D = problem.n, problem.set.diameter
        self.gradient, self.value = problem.gradient, problem.value
        self.batch, self.difference = problem.batch, problem.difference
        self.lo, self.prox = problem.lo, problem.prox


@dataclass(frozen=True)
class Trajectory:
    """A method on a problem, made for a horizon; it ends at a deadline of `time.monotonic`."""

    statement: SearchedStatement
    problem: Any
    constants: Any
    parameters: Any
    algorithm: Any
    deadline: float

    @property
    def steps(self) -> int | None:
        """The number of steps that the claim sets."""
        steps: int | None = vars(self.parameters).get("iterations")
        return steps

    def run(self, rng: Any) -> Iterator[tuple[Any, State]]:
        """Yield each state with the iterate before it."""
        x = self.problem.start()
        algorithm = deepcopy(self.algorithm)  # it may keep state
        states = algorithm.run(SearchedOracles(self.problem), x.copy(), rng)
        for state in islice(states, self.steps):
            if monotonic() > self.deadline:
                raise Skip("it takes too long")
            if not isinstance(state, State) or np.shape(state.x) != np.shape(x):
                raise Skip("the method yields no state")
            yield x, state
            x = np.array(state.x)

    def limit(self, t: int | None = None) -> Any:
        """Return the bound, refused where it is not positive."""
        assert self.statement.bound is not None
        arguments = () if t is None else (t,)
        value = self.statement.bound(self.constants, self.parameters, *arguments)
        if not value > 0 or value == math.inf:
            raise Skip("the bound is not positive")
        return value


def prepare_run(
    statement: SearchedStatement, problem: Any, T: int, deadline: float = math.inf
) -> Trajectory:
    """Return the method made for a problem and a horizon (0: as the claim fixes it).

    Raises
    ------
    Skip
        If the instance does not meet an assumption, or a constant is unknown.
    """
    predicates = {text: parse_assumption(text) for text in statement.conditions}
    for text, predicate in predicates.items():
        if predicate is not None and not predicate(problem):
            raise Skip(f"not: {text}")
    setting, horizon = statement.setting, statement.horizon
    known_constants = problem.constants()
    constants = known_constants if setting.constants is None else setting.constants(problem)
    longer = {} if horizon is None or not T else {horizon[0]: T}
    if callable(setting.parameters):
        parameters = dict(setting.parameters(constants, **longer))
    else:
        parameters = {**setting.parameters, **longer}
    method, epsilon = statement.method, parameters.pop("epsilon", None)
    if epsilon is not None and has_schedule(method):
        algorithm = method.theory(epsilon, constants, **parameters)
        parameters = {**vars(algorithm)}
    else:
        algorithm = instantiate_with_parameters(method, **parameters)
    parameters |= {} if epsilon is None else {"epsilon": epsilon}

    def look_up(name: str) -> Any:
        return parameters[name] if name in parameters else getattr(known_constants, name)

    for text, predicate in predicates.items():
        tree = None if predicate else parse_comparison(text)
        if tree is not None and not _evaluate_comparison(tree, look_up):
            raise Skip(f"not: {text}")
    named = ParameterNamespace(**parameters)
    return Trajectory(statement, problem, constants, named, algorithm, deadline)
