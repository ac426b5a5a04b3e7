"""Confirmation of a candidate: in rational numbers, else with 50 digits, else by an e-process.

A candidate is an instance on which a bound seems to fail in floating-point arithmetic.
"""

import ast
import builtins
import inspect
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache, partial
from pathlib import Path
from time import monotonic
from types import CodeType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import scipy.optimize

from pfbench import points
from pfbench.verification.falsify.exact_numbers import Digits, Inexact, Number, RationalOrRoot
from pfbench.verification.falsify.genomes import Entry, list_number_positions
from pfbench.verification.falsify.searched_problem import Skip, build_problem
from pfbench.verification.falsify.statement import Ratio, SearchedStatement, list_statements
from pfbench.verification.instruments.enumerated_random import MOST_BRANCHES, NotEnumerable
from pfbench.verification.statistics import max_log_e_value, rejects
from pfbench.verification.subject import NotTestable
from pfbench.verification.user_claims import collect_paper

_MIN_EXCESS, _ERROR_FACTOR = 1e-15, 1e6
_ROUNDING = 1e-9
_REPLAY_SECONDS = 30.0
_RATIONAL_STEPS, _RATIONAL_NUMBERS = 64, 1000
_EXACT = 1e-30


Confirmation = tuple[str, dict[str, Any]]
"""Reason why a candidate is not confirmed, empty if it is; and fields of a `Counterexample`."""


def load_exact_statement(statement: SearchedStatement, number: type[Number]) -> SearchedStatement:
    """Return a copy of a statement whose code computes with exact numbers of the type `number`."""
    name, module = statement.claim.name, statement.module
    twin = load_exact_module(module, number)
    claim = next((c for c in collect_paper(vars(twin).values()).claims if c.name == name), None)
    if claim is None:
        raise Inexact(f"the module {module.__name__} has no claim {name} at its top level")
    if isinstance(claim.algorithm, str):
        home = load_exact_module(sys.modules[statement.method_class.__module__], number)
        claim = replace(claim, algorithm=getattr(home, statement.method_class.__name__))
    return next(s for s in list_statements(claim, statement.allowed) if s.label == statement.label)


def replay_entry_exactly(
    statement: SearchedStatement, entry: Entry, number: type[Number], deadline: float
) -> tuple[Ratio, Any]:
    """Recompute a search entry with exact numbers; return its ratio measured/bound and problem.

    Raises
    ------
    Inexact
        If the computation leaves the arithmetic.
    NotEnumerable
        If the random draws cannot be enumerated.
    Exception
        Whatever user code raises.
    """
    problem = build_problem(entry.genome, number.from_value)
    limit = max(1, int(MOST_BRANCHES / max(entry.T, 1) / (1 + problem.d / 4)))
    case = load_exact_statement(statement, number).prepare_run(problem, entry.T, deadline)
    result = case.evaluate_ratio(entry.seed, 0, limit)
    if not isinstance(result.ratio, Number):
        raise Inexact("the ratio measured/bound is a float, not an exact number")
    if not problem.is_minimiser_optimal_or_unknown:
        raise Skip("the stated minimiser of the instance is not optimal")
    return result, problem


def confirm_entry(
    statement: SearchedStatement, entry: Entry, deadline: float, mean_test: Any = None
) -> Confirmation:
    """Try to confirm that the instance of a search entry violates the bound; return the result.

    The ratio is computed with rationals, or else with 50 digits. If `mean_test` is given, an
    e-process is used instead. It is a pair: the entropy of the seeds, and the largest number of
    runs.
    """
    deadline, reason = min(deadline, monotonic() + _REPLAY_SECONDS), statement.refusal
    methods: list[Callable[..., Confirmation]] = [_confirm_exactly, _confirm_in_digits]
    methods = [partial(_confirm_mean_by_e_process, *mean_test)] if mean_test else methods
    for confirm in methods if not reason else ():
        try:
            return confirm(statement, entry, deadline)
        except Skip as error:
            return str(error), {}
        except Exception as error:  # user code may raise anything
            reason = describe_error(error)
    return reason, {}


def describe_error(error: Exception) -> str:
    """Return an error's message, preceded by the error's type if user code raised the error."""
    is_known = isinstance(error, Skip | Inexact | NotEnumerable | NotTestable)
    return f"{'' if is_known else type(error).__name__ + ': '}{error}"


def _confirm_exactly(statement: SearchedStatement, entry: Entry, deadline: float) -> Confirmation:
    if entry.T > _RATIONAL_STEPS or len(list_number_positions(entry.genome)) > _RATIONAL_NUMBERS:
        raise Inexact("the run has too many steps or numbers for exact arithmetic")
    result, problem = replay_entry_exactly(statement, entry, RationalOrRoot, deadline)
    reason = "" if result.ratio > 1 else "the exact ratio measured/bound is at most 1"
    record = {"arithmetic": "rational", "ratio_exact": str(result.ratio)}
    return reason, record | _describe_replay(result, problem)


def _confirm_in_digits(statement: SearchedStatement, entry: Entry, deadline: float) -> Confirmation:
    low, high = (Digits.make_type(digits) for digits in (50, 100))
    result, problem = replay_entry_exactly(statement, entry, low, deadline)
    finer, _ = replay_entry_exactly(statement, entry, high, deadline)
    error = abs(float(finer.ratio.value - result.ratio.value))
    excess = float(finer.ratio.value - 1)
    reason = "" if excess > max(_MIN_EXCESS, _ERROR_FACTOR * error) else f"{excess:.3g} is rounding"
    if not Digits.comparisons_agree(low, high):
        reason = "rounding decides a comparison"
    record = {"arithmetic": "50 digits", "ratio_exact": f"{result.ratio.value:.50f}"}
    return reason, record | {"error_bound": error} | _describe_replay(result, problem)


def _describe_replay(result: Ratio, problem: Any) -> dict[str, Any]:
    """Return fields of a `Counterexample`: ratio, measured value, bound, step, constants."""
    values, remark = problem.constants(), " (upper bound)" if problem.is_chain else ""
    names = sorted(problem.read - {"L", "n", "d"})
    constants = {k: f"{getattr(values, k)}{remark * (k[0] == 'L')}" for k in names}
    if "gradient_mapping_step" in vars(problem):
        constants["lambda of gradient_mapping_sq"] = str(problem.gradient_mapping_step)
    return result.as_floats() | {"t": result.t, "quantity": result.quantity, "constants": constants}


def _confirm_mean_by_e_process(
    entropy: Any, limit: int, statement: SearchedStatement, entry: Entry, deadline: float
) -> Confirmation:
    """Try to show by an e-process that a mean over runs exceeds its bound, and return the result.

    The runs have seeds that the search has not used.
    """
    case = statement.prepare_run(build_problem(entry.genome), entry.T, deadline)
    bound, total, runs, ratios = float(case.bound_value()), 0.0, 0, list[float]()
    for child in np.random.SeedSequence(entropy).spawn(limit):
        ratio = float(case.measure_run(np.random.default_rng(child)) / bound)
        if ratio < -_ROUNDING:
            return "the quantity is negative in some run, and an e-process needs it to be >= 0", {}
        total, runs = total + ratio, runs + 1
        ratios.append(max(ratio * (1.0 - _ROUNDING), 0.0))
        mean, largest = total / runs, max_log_e_value(ratios, 1.0)
        if rejects(largest):
            e_value = math.exp(min(largest, 700.0))
            record = {"arithmetic": "e-process", "e_value": e_value, "runs": runs}
            result = Ratio(mean, mean * bound, bound, case.steps or 1)
            return "", record | _describe_replay(result, case.problem)
        if monotonic() > deadline or (runs >= 200 and mean < 1.0):
            break
    return f"{runs} runs do not decide (mean {total / max(runs, 1):.3g})", {}


# --- the module of a claim in another arithmetic ---


def load_exact_module(
    module: ModuleType, number: type[Number], exact_copies: dict[str, ModuleType] | None = None
) -> ModuleType:
    """Return an executed copy of a module that computes with numbers of the type `number`.

    Modules that it imports from its folder are copied, too, unless `exact_copies` has their copies.
    A top-level statement that raises an error with these numbers is executed unchanged.

    Raises
    ------
    Inexact
        If its source is not known.
    """
    file = inspect.getsourcefile(module) if getattr(module, "__file__", None) else None
    if file is None:
        raise Inexact(f"the source file of the module {module.__name__} is not found")
    twin, to_number = ModuleType(f"{module.__name__}__exact"), partial(_convert_integers, number)
    replacements = _make_exact_modules(number)
    copies = {} if exact_copies is None else exact_copies
    copies[module.__name__] = twin

    def import_exact(name: str, *arguments: Any) -> Any:
        imported = __import__(name, *arguments)
        if Path(getattr(imported, "__file__", None) or "").parent == Path(file).parent:
            return copies.get(imported.__name__) or load_exact_module(imported, number, copies)
        return replacements.get(imported.__name__, imported)

    vars(twin).update(
        __file__=file,
        __package__=module.__package__,
        __builtins__={**vars(builtins), "__import__": import_exact},
        _exact_=lambda text: number.from_value(Fraction(text)),
        _float_=partial(_convert, number),
        _divide_=lambda a, b: to_number(a) / b,
        _power_=lambda a, b: (a if _is_integer(b) and b >= 0 else to_number(a)) ** b,
    )
    sys.modules[twin.__name__] = twin  # dataclasses look their module up
    try:
        for exact, plain in _compile_statements(inspect.getsource(module), file):
            try:
                exec(exact, vars(twin))
            except Exception:
                exec(plain, vars(twin))
    finally:
        sys.modules.pop(twin.__name__, None)
    return twin


@lru_cache(maxsize=64)
def _compile_statements(text: str, file: str) -> tuple[tuple[CodeType, CodeType], ...]:
    """Return the code of each top-level statement: with exact arithmetic, and unchanged."""
    plain, exact = ast.parse(text, file), _ExactArithmeticRewriter().visit(ast.parse(text, file))
    future = [node for node in plain.body if getattr(node, "module", "") == "__future__"]
    return tuple(
        (_compile([*future, node], file), _compile([*future, original], file))
        for node, original in zip(exact.body, plain.body, strict=True)
    )


def _compile(nodes: list[ast.stmt], file: str) -> CodeType:
    code: CodeType = compile(ast.fix_missing_locations(ast.Module(nodes, [])), file, "exec")
    return code


class _ExactArithmeticRewriter(ast.NodeTransformer):
    """Transformer that rewrites floats, divisions, powers and calls of `float` as exact ones."""

    def visit_match_case(self, node: ast.match_case) -> ast.AST:
        return node  # a pattern has no calls

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if type(node.value) is float and math.isfinite(node.value):
            return _call("_exact_", ast.Constant(repr(node.value)))
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        name = {ast.Div: "_divide_", ast.Pow: "_power_"}.get(type(node.op))
        return node if name is None else _call(name, node.left, node.right)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        if not isinstance(node.op, ast.Div | ast.Pow) or not isinstance(node.target, ast.Name):
            return self.generic_visit(node)
        value = ast.BinOp(ast.Name(node.target.id, ast.Load()), node.op, node.value)
        return ast.Assign([node.target], self.visit(value))

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        return node if node.arg == "instances" else self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "float":
            node.func.id = "_float_"
        return node


def _call(name: str, *arguments: Any) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


def _convert(number: type[Number], value: Any) -> Any:
    exact = number.convert_scalar(value)
    if exact is None:
        raise Inexact(f"the code converts {value!r} to a float, which is not exact")
    return exact


def _is_integer(value: Any) -> bool:
    return isinstance(value, int | np.integer)


def _convert_integers(number: type[Number], value: Any) -> Any:
    """Return an integer, or an array of integers, as exact numbers; return other values as is."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "ib":
        return value.astype(object) * number.from_value(1)
    return number.convert_scalar(value) if _is_integer(value) else value


def _make_exact_modules(number: type[Number]) -> Mapping[str, ModuleType]:
    """Return replacements of math, numpy and pfbench, by name, which compute with exact numbers."""

    def apply(name: str, value: Any) -> Any:
        return getattr(_convert(number, value), name)()

    def array(value: Any, *arguments: Any, **options: Any) -> Any:
        objects = np.array(value, dtype=object)
        flat = [number.convert_scalar(entry) for entry in objects.ravel()]
        if any(entry is None for entry in flat) or all(map(_is_integer, objects.ravel())):
            return np.array(value)
        return np.array(flat, dtype=object).reshape(objects.shape)

    def minimise_parabola(value: Any, bounds: Any, **options: Any) -> Any:
        low, width = bounds[0], bounds[1] - bounds[0]
        values = [value(low + width * number.from_value(Fraction(k, 4))) for k in range(5)]
        bend = 2 * (values[4] - 2 * values[2] + values[0])
        slope = values[4] - values[0] - bend
        errors = (v - values[0] - (slope + bend * k / 4) * k / 4 for k, v in enumerate(values))
        size = max(abs(v.as_float()) for v in values)
        if any(abs(error.as_float()) > _EXACT * size for error in errors):
            raise Inexact("a line search is exact only for quadratic functions")
        end = min(max(-slope / (2 * bend), 0), 1) if bend > 0 else int(values[4] < values[0])
        x = low + width * end
        return SimpleNamespace(x=x, fun=value(x))

    def fill(constant: int) -> Callable[..., Any]:
        entry = number.from_value(constant)
        return lambda shape, *arguments, **options: np.full(shape, entry, dtype=object)

    simple = {name: np.frompyfunc(partial(apply, name), 1, 1) for name in ("sqrt", "exp", "log")}
    arrays: dict[str, Any] = {"array": array, "asarray": array, "zeros": fill(0), "ones": fill(1)}
    arrays |= {"empty": fill(0), "float64": partial(_convert, number)}
    moves = {
        "combine": lambda x, v, w: (1 - w) * x + w * v,
        "tilt": lambda g, x, u, c: g + c * (x - u),
        "inner": lambda a, b: a.ravel() @ b.ravel(),
        "distance": lambda a, b: simple["sqrt"]((a - b).ravel() @ (a - b).ravel()),
    }
    package = sys.modules[__name__.partition(".")[0]]
    replacements: dict[str, ModuleType] = {}
    finite = {"isfinite": lambda value: isinstance(value, Number) or math.isfinite(value)}
    finite["isnan"] = lambda value: not isinstance(value, Number) and math.isnan(value)
    originals = {math: simple | finite, np: simple | arrays, points: moves, package: moves}
    originals[scipy] = {"optimize": SimpleNamespace(minimize_scalar=minimise_parabola)}
    for module, functions in originals.items():
        replacements[module.__name__] = twin = ModuleType(module.__name__)
        vars(twin).update(vars(module) | functions)
    return replacements
