"""Searched statement: a bound of a claim in one setting, its conditions, and runs of its method."""

import ast
import inspect
import math
import re
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from itertools import islice
from time import monotonic
from typing import Any, cast

import numpy as np

from pfbench.base.errors import InputError
from pfbench.base.state import State
from pfbench.verification.claim import Claim
from pfbench.verification.falsify.searched_problem import Skip
from pfbench.verification.homogeneity import check_claim
from pfbench.verification.statements.bound import EACH, Bound
from pfbench.verification.statements.error_law import ErrorLawCheck
from pfbench.verification.statements.quantity import SUBOPTIMALITY, is_count
from pfbench.verification.statements.setting import ClaimSetting, MethodOnProblem
from pfbench.verification.trial import Trial, claim_method

_SUBJECT = r"(?:(?:f|f_i|each f_i|all f_i|the function|components?|each component) )?"
_PREDICATES: Mapping[str, Callable[[Any], bool]] = {
    rf"{_SUBJECT}(?:is |are )?(?:l-)?smooth|unbiased|finite sum": lambda problem: True,
    r"(?:f |the function )?(?:is )?(?:non-?convex|not convex)": lambda problem: True,
    r"(?:f |the function )?(?:is )?strongly convex": lambda p: p.bounds.get("mu") is not None,
    r"(?:f |the function )?(?:is )?convex": lambda problem: problem.is_convex,
    r"(?:each |all )?(?:f_i|components?)(?: is| are)? convex": lambda p: p.components_convex,
    r"convex components?": lambda p: p.components_convex,
    r"bounded domain|compact (?:set|domain)": lambda problem: problem.set.kind != "none",
}
"""Assumptions in words: a pattern of the whole text, and a predicate of a problem."""

_COMPARISON = (
    *(ast.Expression, ast.Compare, ast.BinOp, ast.UnaryOp, ast.Name, ast.Constant, ast.Load),
    *(ast.operator, ast.unaryop, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq),
)


def parse_assumption(text: str) -> Callable[..., bool] | None:
    """Return a function that tests an assumption on a problem; None if its text is not understood.

    The text is in known words, or is a comparison of constants. The second argument of the
    function looks constants up.
    """
    parts = [part.strip() for part in re.split(r",| and ", text.lower().strip(" ."))]
    rules = [[p for words, p in _PREDICATES.items() if re.fullmatch(words, part)] for part in parts]
    if all(rules):
        return lambda problem, look_up: all(rule[0](problem) for rule in rules)
    try:
        tree = ast.parse(text, mode="eval")
    except SyntaxError:
        return None
    nodes = list(ast.walk(tree))
    if not (isinstance(tree.body, ast.Compare) and all(isinstance(n, _COMPARISON) for n in nodes)):
        return None

    def compare(problem: Any, look_up: Callable[[str], Any]) -> bool:
        if any(isinstance(n, ast.Constant) and isinstance(n.value, float) for n in nodes):
            raise Skip("an assumption has a float")  # with integers a quotient stays exact
        names = {node.id: look_up(node.id) for node in nodes if isinstance(node, ast.Name)}
        return bool(eval(compile(tree, "<condition>", "eval"), {"__builtins__": {}}, names))

    return compare


class SearchedStatement:
    """Bound or error law of a claim, for one label and one setting of the parameters.

    Attributes
    ----------
    statistic
        Over which points the bound is stated; "law" for an error law.
    is_for_each_run, is_expectation
        Whether the bound is on every run, with a bound for every t; or on a mean over draws.
    horizon
        The name and the value of the parameter that sets the number of steps; None if none does.
    module
        The module that states the claim.
    conditions, refusal
        All that claim and method assume, with rules; and a text if one is not understood.
    """

    def __init__(
        self, claim: Claim, label: str, setting: ClaimSetting, bound: Any, allowed: tuple[str, ...]
    ) -> None:
        self.claim, self.label, self.setting, self.bound = claim, label, setting, bound
        self.allowed, self.trial, self.check = allowed, Trial(claim), cast(Any, claim.check)
        self.statistic = "law" if bound is None else str(self.check.statistic)
        self.is_for_each_run, self.method = self.statistic in EACH, claim_method(claim)
        self.module: Any = inspect.getmodule(bound or self.check.square)
        self.method_class = self.method if inspect.isclass(self.method) else type(self.method)
        self.is_deterministic = bool(getattr(self.method, "deterministic", False))
        self.is_expectation = not (self.statistic in ("law", *EACH) or self.is_deterministic)
        self.horizon = setting.horizon("quick")
        assumed = (*claim.assumptions, *getattr(self.method, "assumes", ()))
        self.conditions = {text: parse_assumption(text) for text in assumed}
        unknown = "; ".join(k for k, v in self.conditions.items() if not (v or k in allowed))
        self.refusal = unknown and f"assumptions that are not understood: {unknown}"

    def admits(self, name: str, value: int) -> bool:
        """Return whether a value of n or d meets the claim's conditions on it.

        Only conditions that compare n or d with an integer are tested.
        """
        pattern = re.compile(rf"{name} *([<>]=?|==|!=) *\d+")
        rules = [rule for text, rule in self.conditions.items() if pattern.fullmatch(text)]
        return all(rule is None or rule(None, {name: value}.__getitem__) for rule in rules)


def list_statements(claim: Claim, allowed: tuple[str, ...] = ()) -> list[SearchedStatement]:
    """Return the searchable statements of a claim: one for each bound and each setting.

    Raises
    ------
    InputError
        If it is no bound or error law, or bounds counts of calls.
    """
    check = claim.check
    if isinstance(check, ErrorLawCheck):
        return [SearchedStatement(claim, "", check.setting, None, allowed)]
    if not isinstance(check, Bound):
        raise InputError(
            f"{claim.name} is a {claim.kind}, but only bounds and error laws can be searched for "
            "counterexamples."
        )
    if is_count(check.quantity):
        raise InputError(
            f"{claim.name} bounds counts, for which no instance is hard: use `pfbench verify`."
        )
    output = getattr(claim_method(claim), "output", "last")
    if output not in ("last", "uniform") and check.statistic == "output":
        raise InputError(f"{claim.name} has a weighted output, which no search can falsify.")
    return [
        SearchedStatement(claim, ", ".join(filter(None, (key, label))), setting, bound, allowed)
        for label, setting in check.settings.items()
        for key, bound in check.bounds.items()
    ]


def lint_claim(statements: list[SearchedStatement]) -> list[str]:
    """Return remarks on the wording of a claim, one sentence each; nothing is searched."""
    first, claim, check = statements[0], statements[0].claim, statements[0].check
    if first.statistic == "law":
        return []
    text, statistic = claim.statement, first.statistic
    pattern = r"\b(exists?|for some|there is|eventually|sufficiently|large enough)\b"
    words = re.search(pattern, text.lower())
    is_mean = re.search(r"\bE\b|E\[|\bexpect|\bmean\b", text) is not None
    codes = [f.__code__ for f in check.bounds.values() if hasattr(f, "__code__")]
    numbers = {v for code in codes for v in code.co_consts if isinstance(v, float)}
    unnamed = [f"{v:g}" for v in sorted(numbers) if len(f"{v:g}".strip("0.")) > 3]
    assumed = " ".join(first.conditions)
    is_fixed = any(statement.horizon is None for statement in statements)
    units = check_claim(claim) if claim.instances and not claim.scale_dependence else None
    remarks = {
        f'The statement says "{words and words[0]}"; the search takes every T and instance.': words,
        "The number of steps is fixed: let `parameters` be a function of T.": is_fixed,
        f'The statement is about an expectation; statistic="{statistic}" tests each run: use '
        '"mean", "last" or "output".': is_mean and not first.is_deterministic and statistic in EACH,
        f"The bound has a constant without a name: {', '.join(unnamed)}.": unnamed,
        "The bound has mu; no assumption says that f is strongly convex.": "strong" not in assumed
        and any("mu" in code.co_names for code in codes),
        "The bound is on f - min f; no assumption says that f is convex.": "convex" not in assumed
        and check.quantity == SUBOPTIMALITY,
        f"The bound depends on the units of f and x ({units and units.description}).": units
        and units.homogeneous is False,
    }
    return [remark for remark, applies in remarks.items() if applies]


@dataclass(frozen=True, kw_only=True)
class MethodOnSearchedInstance(MethodOnProblem):
    """Method on a searched problem, whose runs end at a deadline.

    The deadline is a time of `time.monotonic`.
    """

    problem: Any
    statement: SearchedStatement
    deadline: float

    @property
    def is_mean_over_run(self) -> bool:
        """Whether the measured quantity is a mean over the points of a run."""
        statistic, output = self.statement.statistic, getattr(self.algorithm, "output", "last")
        return statistic == "mean" or (statistic == "output" and output == "uniform")

    def run(self, rng: Any) -> Iterator[tuple[Any, State]]:
        """Yield each state of a run as a pair: the iterate before the state, and the state."""
        x = self.problem.start()
        # The method may keep state.
        for state in islice(deepcopy(self.algorithm).run(self.problem, x.copy(), rng), self.steps):
            if monotonic() > self.deadline:
                raise Skip("the run exceeds its time limit")
            if not isinstance(state, State) or np.shape(state.x) != np.shape(x):
                raise Skip("the method does not yield states of the problem's shape")
            yield x, state
            x = np.array(state.x)

    def estimates(self, rng: Any) -> Iterator[tuple[Any, Any]]:
        """Yield each gradient estimate of a run as a pair: its point, and the estimate."""
        for x, state in self.run(rng):
            if state.estimate is None:
                raise Skip("the method does not yield its gradient estimate")
            yield x if state.at is None else state.at, np.array(state.estimate)

    def bound_value(self, *t: int) -> Any:
        """Return the value of the bound, at step t if the bound depends on t.

        Raises
        ------
        Skip
            If it is not positive.
        """
        value = self.statement.bound(self.constants, self.parameters, *t)
        if not value > 0:
            raise Skip("the bound is not positive")
        return value


def prepare_run(
    statement: SearchedStatement, problem: Any, T: int, deadline: float = math.inf
) -> MethodOnSearchedInstance:
    """Return the method on a problem, ready for runs of T steps.

    If T is 0, the claim determines the number of steps.

    Raises
    ------
    Skip
        If the instance does not meet an assumption, or a constant is unknown.
    """
    setting, horizon = statement.setting, statement.horizon
    setting = setting.with_horizon(horizon[0], T) if horizon and T else setting
    case = setting.make_case(statement.trial, problem)
    parameters, constants = case.claim_parameters, problem.constants()

    def look_up(name: str) -> Any:
        return parameters[name] if name in parameters else getattr(constants, name)

    for assumption, rule in statement.conditions.items():
        if rule is not None and not rule(problem, look_up):
            raise Skip(f"the instance violates the assumption: {assumption}")
    return MethodOnSearchedInstance(**vars(case), statement=statement, deadline=deadline)
