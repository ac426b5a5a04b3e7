"""Searched statement: a bound of a claim in one setting, its conditions, and measured ratios."""

import ast
import inspect
import math
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from importlib.resources import files
from itertools import islice
from time import monotonic
from typing import Any, cast

import numpy as np

from pfbench.base.errors import InputError
from pfbench.base.state import State
from pfbench.verification.claim import Claim
from pfbench.verification.falsify.exact_numbers import as_float
from pfbench.verification.falsify.searched_problem import Skip
from pfbench.verification.homogeneity import check_claim_units
from pfbench.verification.instruments.enumerated_random import NotEnumerable, enumerate_draws
from pfbench.verification.statements.bound import EACH, Bound, sum_of_magnitudes
from pfbench.verification.statements.error_law import ErrorLawCheck, group_errors
from pfbench.verification.statements.quantity import SUBOPTIMALITY, is_count
from pfbench.verification.statements.setting import ClaimSetting, MethodOnProblem
from pfbench.verification.trial import Trial, claim_method

_SMALL_BIAS = 1e-9

_NOISE = 1e-10
"""Fraction of the first measured value below which a float counts as a rounding error."""

_VOCABULARY = tomllib.loads((files(__package__) / "assumptions.toml").read_text(encoding="utf-8"))

_PREDICATES: Mapping[str, Callable[[Any], bool]] = {
    "always": lambda problem: True,
    "strong": lambda problem: problem.bounds["mu"] is not None,
    "strong_components": lambda problem: 0 < (problem.bounds["mu"] or 0) <= problem.lowest_slope,
    "convex": lambda problem: problem.is_convex,
    "convex_components": lambda problem: problem.lowest_slope >= 0,
    "minimum": lambda problem: problem.minimiser is not None,
    "variance": lambda problem: problem.bounds["sigma2"] is not None,
    "bounded": lambda problem: problem.set.kind != "none",
    "polytope": lambda problem: problem.set.kind in ("box", "hull"),
    "ball": lambda problem: problem.set.kind == "ball",
}
"""Predicates of a problem, by their names in the vocabulary."""

_COMPARISON = (
    *(ast.Expression, ast.Compare, ast.BinOp, ast.UnaryOp, ast.Name, ast.Constant, ast.Load),
    *(ast.operator, ast.unaryop, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq),
)


def split_assumption(text: str) -> list[str]:
    """Return the parts of an assumption in words; a part without a noun gets that before it.

    The first parts get the first noun of the text.
    """
    text = re.sub(r" (?:on|over) (?:the )?[CDKMX]$", "", text)
    text = re.sub(r"\b[CDKMX] (?=is |convex|compact|bounded|closed)", "set ", text).lower()
    for words, replacement in _VOCABULARY["words"].items():
        text = re.sub(words, replacement, text)
    noun, parts, nouns = "", list[str](), r"\b(?:f_i|f|set|variance|gradients?|x\*)(?!\w)|∇f|e\S*\|"
    for part in filter(None, map(str.strip, re.split(r",| and ", text.strip(" .")))):
        matches = re.findall(nouns, part)
        noun = matches[0] if matches else noun or (re.findall(nouns, text) or [""])[0]
        parts.append(" ".join((part if matches else f"{noun} {part}").split()))
    return parts


def parse_assumption(text: str) -> Callable[..., bool] | None:
    """Return a function that checks an assumption on a problem; None if `text` is not understood.

    The text is in known words, or is a comparison of constants. The second argument of the
    function looks constants up.
    """
    parts = split_assumption(text)
    forms = [(form, name) for name, items in _VOCABULARY["forms"].items() for form in items]
    rules = [[_PREDICATES[k] for form, k in forms if re.fullmatch(form, part)] for part in parts]
    if rules and all(rules):
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
    """Bound or error law of a claim, for one setting of the parameters of the claim's method.

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
        self.refusal = unknown and f"assumptions not understood (see --allow): {unknown}"

    def admits(self, name: str, value: int) -> bool:
        """Return whether the claim's conditions admit a value of the size `name`, n or d.

        Only conditions that compare n or d with an integer are tested.
        """
        pattern = re.compile(rf"{name} *([<>]=?|==|!=) *\d+")
        rules = [rule for text, rule in self.conditions.items() if pattern.fullmatch(text)]
        return all(rule is None or rule(None, {name: value}.__getitem__) for rule in rules)

    def prepare_run(self, problem: Any, T: int, deadline: float = math.inf) -> "MethodOnInstance":
        """Return the claim's method, instantiated for a problem and for runs of T steps.

        If T is 0, the claim determines the number of steps.

        Raises
        ------
        Skip
            If the instance does not meet an assumption, or a constant is unknown.
        """
        setting, horizon = self.setting, self.horizon
        setting = setting.with_horizon(horizon[0], T) if horizon and T else setting
        case = setting.make_case(self.trial, problem)
        parameters, constants = case.parameters_set_by_claim, problem.constants()

        def look_up(name: str) -> Any:
            return parameters[name] if name in parameters else getattr(constants, name)

        for assumption, rule in self.conditions.items():
            if rule is not None and not rule(problem, look_up):
                raise Skip(f"the instance violates the assumption: {assumption}")
        return MethodOnInstance(**vars(case), statement=self, deadline=deadline)


def list_statements(claim: Claim, allowed: tuple[str, ...] = ()) -> list[SearchedStatement]:
    """Return a claim's statements for a counterexample search: one for each bound and setting.

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
            f"{claim.name} is of the kind {claim.kind}, but only bounds and error laws can be "
            "searched for counterexamples."
        )
    output = getattr(claim_method(claim), "output", "last")
    is_weighted = output not in ("last", "uniform") and check.statistic == "output"
    if is_count(check.quantity) or is_weighted:
        raise InputError(
            f"{claim.name} is about oracle calls or a weighted output, which cannot be searched: "
            "use `pfbench verify`."
        )
    return [
        SearchedStatement(claim, ", ".join(filter(None, (key, label))), setting, bound, allowed)
        for label, setting in check.settings.items()
        for key, bound in check.bounds_by_label.items()
    ]


def list_wording_remarks(statements: list[SearchedStatement]) -> list[str]:
    """Return remarks on the wording of a claim, one sentence each; search no counterexamples."""
    first, claim, check = statements[0], statements[0].claim, statements[0].check
    if first.statistic == "law":
        return []
    text, statistic = claim.statement, first.statistic
    pattern = r"\b(exists?|for some|there is|eventually|sufficiently|large enough)\b"
    words = re.search(pattern, text.lower())
    is_mean = re.search(r"\bE\b|E\[|\bexpect|\bmean\b", text) is not None
    codes = [f.__code__ for f in check.bounds_by_label.values() if hasattr(f, "__code__")]
    numbers = {v for code in codes for v in code.co_consts if isinstance(v, float)}
    unnamed = [f"{v:g}" for v in sorted(numbers) if len(f"{v:g}".strip("0.")) > 3]
    assumed = " ".join(part for text in first.conditions for part in split_assumption(text))
    is_fixed = any(statement.horizon is None for statement in statements)
    units = check_claim_units(claim) if claim.instances and not claim.scale_dependence else None
    remarks = {
        f'The statement says "{words and words[0]}"; the search takes every T and instance.': words,
        "The search varies the number of steps if `parameters` is a function of T.": is_fixed,
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


@dataclass(frozen=True)
class Ratio:
    """Largest ratio, over all steps t, of a measured quantity to its bound.

    Attributes
    ----------
    ratio, measured, bound, t
        The ratio, both sides, and where it is largest.
    growth
        The ratio at the end of the run over that at half of it; 0 if unknown.
    work
        Number of steps of the method.
    after_start
        The largest ratio without that of the start; infinite if the bound is not for each t.
    quantity
        The measured quantity, if it is not the one that the claim bounds.
    """

    ratio: Any = 0.0
    measured: Any = 0.0
    bound: Any = 0.0
    t: int = 0
    growth: float = 0.0
    work: int = 1
    quantity: str = ""
    after_start: float = math.inf

    def as_floats(self) -> dict[str, Any]:
        """Return the ratio, the measured value and the bound as floats, in a dict by name."""
        return {k: as_float(getattr(self, k)) for k in ("ratio", "measured", "bound")}


@dataclass(frozen=True, kw_only=True)
class MethodOnInstance(MethodOnProblem):
    """Method on a problem of the counterexample search; its runs end at a deadline.

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
        """Yield pairs (previous iterate, state) for a run; the first pair contains the start."""
        x = self.problem.start()
        # The method may keep state.
        for state in islice(deepcopy(self.algorithm).run(self.problem, x.copy(), rng), self.steps):
            if monotonic() > self.deadline:
                raise Skip("the run exceeds its time limit")
            if not isinstance(state, State) or np.shape(state.x) != np.shape(x):
                raise Skip("the method does not yield states of the problem's shape")
            yield x, state
            x = np.array(state.x)

    def points_and_estimates(self, rng: Any) -> Iterator[tuple[Any, Any]]:
        """Yield (point, estimate) pairs: the gradient estimates of a run, each with its point."""
        for x, state in self.run(rng):
            if state.estimate is None:
                raise Skip("the method yields no gradient estimate: yield State(x, at, estimate)")
            yield np.array(x if state.at is None else state.at), np.array(state.estimate)

    def bound_value(self, *t: int) -> Any:
        """Return the value of the bound, at step t if the bound depends on t.

        Raises
        ------
        Skip
            If it is not positive, and not a bound on a step.
        """
        value = self.statement.bound(self.constants, self.parameters, *t)
        if not (value > 0 or self.statement.statistic == "step"):
            raise Skip('the bound is not positive: statistic="step" admits 0')
        return value

    def evaluate_ratio(self, seed: int, runs: int, limit: int) -> Ratio:
        """Return the largest ratio of the measured quantity to its bound on an instance.

        An expectation is computed from all sequences of draws if there are at most `limit`.
        Otherwise it is estimated by the mean of `runs` runs, which is no evidence. If `runs` is 0,
        it is not estimated.

        Raises
        ------
        NotEnumerable
            If there are more sequences of draws than `limit`, and `runs` is 0.
        """
        if self.statement.statistic == "law":
            return self._find_largest_error_ratio(limit)
        if self.statement.is_for_each_run:
            return self._evaluate_each_step(seed)
        unit, bound, steps = self.problem.number(1), self.bound_value(), self.steps or 1
        try:
            outcomes = list(enumerate_draws(self.measure_run, limit, unit))
            value, count = sum(chance * value for chance, value in outcomes), len(outcomes)
        except NotEnumerable:
            if not runs:
                raise
            streams = (np.random.default_rng((seed, k)) for k in range(runs))
            value, count = sum(self.measure_run(rng) for rng in streams) / runs, runs
        return _make_ratio(value, bound, steps, count * steps)

    def _quantity_function(self) -> Callable[[Any], Any]:
        """Return the measured quantity of a statement as a function of a point."""
        quantity, problem = self.statement.check.quantity, self.problem
        if not isinstance(quantity, str):
            return lambda x: quantity(problem, x)
        if quantity in ("objective", "value", SUBOPTIMALITY):
            lower = problem.best_known[0] if quantity == SUBOPTIMALITY else 0
            return lambda x: problem.value(x) - lower
        if quantity == "fw_gap" and problem.set.kind != "none":
            return lambda x: problem.gradient(x) @ (x - problem.set.lo(problem.gradient(x)))
        if quantity == "gradient_mapping_sq":
            return lambda x: problem.gradient_mapping_sq(x)
        raise Skip(f"the quantity {quantity} is not defined on the instance")

    def _evaluate_each_step(self, seed: int) -> Ratio:
        statistic, problem = self.statement.statistic, self.problem
        quantity, measure = self.statement.check.quantity, self._quantity_function()
        is_step, is_every = statistic == "step", statistic == "every"
        first = None if is_step else measure(problem.start())
        lower, size, results = None, 0, list[Ratio]()
        for t, (x, state) in enumerate(self.run(np.random.default_rng(seed)), is_every):
            pair = (problem, x, state.x)
            value = quantity(*pair) if is_step else measure(state.x if is_every else x)
            change = max(abs(state.x - x)) if is_step else value
            first = change if first is None else first
            if _is_rounding_noise(change, first):
                break
            if statistic == "least":
                value = lower = value if lower is None else min(lower, value)
            bound = self.bound_value(t) if t >= self.statement.check.first else math.inf
            if is_step and not bound > 0:
                size = max(size, sum_of_magnitudes(quantity, *pair), key=as_float)
            shift = size and size - bound
            results += [_make_ratio(value, bound, t, t + 1, shift)] if bound != math.inf else []
        if not results:
            raise Skip("the bound is infinite at each step, or the method makes no step")
        half, last = results[len(results) // 2], results[-1]
        is_float = isinstance(last.ratio, float) and len(results) > 8
        growth = last.ratio / half.ratio if is_float and half.ratio > 0 else 0.0
        later = max((as_float(item.ratio) for item in results if item.t or is_step), default=0.0)
        best = max(results, key=lambda item: item.ratio)
        return replace(best, growth=growth, work=last.work, after_start=later)

    def measure_run(self, rng: Any) -> Any:
        """Return the measured quantity of one run, for a bound on the expectation over runs."""
        statistic, measure = self.statement.statistic, self._quantity_function()
        points, last = list[Any](), cast(Any, None)
        for x, last in self.run(rng):
            points.append(x if last.at is None else np.array(last.at))
        if not points or (self.steps and len(points) < self.steps):
            raise Skip(f"the method makes {len(points)} steps, too few for the claim")
        if statistic == "output" and last.output is not None:
            return measure(last.output)
        points = points if self.is_mean_over_run else [last.x]
        value = sum(map(measure, points)) / len(points)
        return 0.0 if _is_rounding_noise(value, measure(self.problem.start())) else value

    def _find_largest_error_ratio(self, limit: int) -> Ratio:
        """Return the largest ratio of an estimate's mean squared error to the claimed value.

        If the mean of an error is wrong, 1 plus the bias counts as a ratio, too.
        """
        check, problem, results = self.statement.check, self.problem, list[Ratio]()
        runs = enumerate_draws(
            lambda rng: list(self.points_and_estimates(rng)), limit, problem.number(1)
        )
        groups, count = group_errors(problem, runs)
        work, scale = count * (self.steps or 1), _max_magnitude([1, *problem.gradient(problem.x_0)])
        smallest = _NOISE * as_float(scale) ** 2
        for group in groups:
            past, value = group.past, group.square / group.chance
            law = check.square(self.constants, self.parameters, past)
            pairs = [(value, law), (law, value)][: 1 + (check.exact and as_float(law) > smallest)]
            results += [_make_ratio(a, b, past.t, work) for a, b in pairs if as_float(b) > smallest]
            if check.mean is not None:
                expected = check.mean(self.constants, self.parameters, past)
                bias = _max_magnitude(group.mean / group.chance - expected) / scale
                if as_float(bias) > _SMALL_BIAS:
                    results.append(Ratio(1 + bias, 1 + bias, 1, past.t, 0.0, work, _BIAS))
        if not results:
            raise Skip("the law is 0")
        return max(results, key=lambda item: as_float(item.ratio))


_BIAS = "1 + |E error - its stated mean|/max(1, |grad f(x_0)|)"


def _is_rounding_noise(value: Any, first: Any) -> bool:
    """Return whether a float is so small, compared with `first`, that it may be rounding noise."""
    return isinstance(value, float) and abs(value) < _NOISE * abs(first)


def _make_ratio(value: Any, bound: Any, t: int, work: int, shift: Any = 0) -> Ratio:
    """Return the ratio (value + shift)/(bound + shift); its denominator must be positive."""
    ratio = (value + shift) / (bound + shift)
    if bound == math.inf or (isinstance(ratio, float) and not math.isfinite(ratio)):
        raise Skip("the bound is infinite, or its ratio is not finite")
    return Ratio(ratio, value, bound, t, 0.0, work)


def _max_magnitude(values: Any) -> Any:
    """Return the largest absolute value, found by comparing floats instead of exact numbers."""
    return max((value for item in values for value in (item, -item)), key=as_float)
