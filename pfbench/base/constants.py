"""Constants of a problem, with their derivations, and formulas of constants as parameters.

A formula, as in ``step=3/L`` or ``period=ceil(n/8)``, is evaluated once the problem is known. It
may have numbers, the names of `MEANING`, L (see `Constants.L`), ``+ - * /``, parentheses, ceil and
sqrt.
"""

import ast
import math
import operator
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Self

from pfbench.base.checks import unwrap_scalar
from pfbench.base.errors import InputError, RefusedError
from pfbench.base.names import unknown_name_error

MEANING = {
    "n": "number of components",
    "D": "Euclidean diameter of the feasible set",
    "L_f": "Lipschitz constant of the gradient of f",
    "L_ms": "mean-squared smoothness: E_i|grad f_i(x)-grad f_i(y)|^2 <= L_ms^2 |x-y|^2",
    "L_max": "every gradient of f_i is L_max-Lipschitz",
    "L_mean": "mean of the L_i, where the gradient of f_i is L_i-Lipschitz",
    "L2_ms": "mean-squared smoothness of the Hessians",
    "sigma2": "largest variance of a component gradient over the set",
    "delta": "f(start) minus a lower bound of f on the set",
    "M": "largest Euclidean norm of a point of the set",
    "sigma_hat": "effective strong convexity (li2019: sigma - 16 tau phi^2)",
    "ell": "lower smoothness: f(y) >= f(x)+<grad f(x),y-x>-(ell/2)|y-x|^2",
    "L_norm": "smoothness in the problem's norm: |grad f(x)-grad f(y)|_* <= L_norm |x-y|",
    "rho": "radius of the norm's ball",
    "zeta": "largest |x|_*/|x|_2; rho zeta is the largest Euclidean norm in the ball",
    "omega": "largest |x|/|x|_2",
}


@dataclass(frozen=True)
class Constants:
    """Constants of a problem and a start point; a constant that is not stated is infinite.

    Attributes
    ----------
    n, D, L_f, L_ms, L_max, L_mean, L2_ms, sigma2, delta, M, sigma_hat, ell
        See `MEANING`.
    L_norm, rho, zeta, omega
        See `MEANING`. Gradients have the units of f per unit of x.
    derivations
        One sentence on the derivation of each stated constant, by name.
    """

    n: int = math.inf  # type: ignore[assignment]
    D: float = math.inf
    L_f: float = math.inf
    L_ms: float = math.inf
    L_max: float = math.inf
    L_mean: float = math.inf
    L2_ms: float = math.inf
    sigma2: float = math.inf
    delta: float = math.inf
    M: float = math.inf
    sigma_hat: float = math.inf
    ell: float = math.inf
    L_norm: float = math.inf
    rho: float = math.inf
    zeta: float = math.inf
    omega: float = math.inf
    derivations: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        for name in MEANING:
            object.__setattr__(self, name, unwrap_scalar(name, getattr(self, name)))

    def __getattr__(self, name: str) -> float:
        """Raise `AttributeError` for an unknown constant, with the nearest name."""
        if name.startswith("_"):
            raise AttributeError(name)
        raise AttributeError(str(unknown_name_error("constant", name, (*MEANING, "L"))))

    @classmethod
    def from_derivations(cls, **statement: tuple[float, str]) -> Self:
        """Return constants from (value, derivation) pairs; infinite values are left out."""
        scalars = {
            name: unwrap_scalar(name, statement[name][0]) for name in MEANING if name in statement
        }
        numbers: dict[str, Any] = {k: value for k, value in scalars.items() if math.isfinite(value)}
        words = MappingProxyType({name: statement[name][1] for name in numbers})
        return cls(**numbers, derivations=words)

    def require(self, name: str, purpose: str) -> float:
        """Return the constant called `name`; raise if the problem does not state this constant.

        Raises
        ------
        RefusedError
            If the constant is not finite; the message names it and the `purpose`.
        """
        value = float(getattr(self, name))
        if not math.isfinite(value):
            raise RefusedError(
                f"{purpose} needs the constant {name} ({MEANING[name]}), which this problem does "
                "not state: give the parameters explicitly instead of epsilon."
            )
        return value

    def smoothness(self, purpose: str) -> float:
        """Return L = max(L_f, L_ms) for stochastic methods; raise unless both are stated."""
        return max(self.require("L_f", purpose), self.require("L_ms", purpose))

    @property
    def L(self) -> float:
        """Smoothness constant L of stochastic methods: max(L_f, L_ms)."""
        return max(self.L_f, self.L_ms)


LONGEST = 100
"""Maximum number of characters of a formula."""

_NAMES = (*MEANING, "L")
_NUMBER = r"\d+(?:\.\d*)?(?:[eE][+-]?\d+)?"
_TOKENS = re.compile(rf"(?:\b(?:{'|'.join((*_NAMES, 'ceil', 'sqrt'))})\b|{_NUMBER}|[-+*/() ])+")
_CONSTANT = re.compile(rf"\b(?:{'|'.join(_NAMES)})\b")
_OPERATIONS: Mapping[type[ast.operator], Callable[[Any, Any], float]] = MappingProxyType(
    {
        ast.Add: operator.add,
        ast.Sub: operator.sub,
        ast.Mult: operator.mul,
        ast.Div: operator.truediv,
    }
)


def is_formula_in_constants(value: Any) -> bool:
    """Return whether a value is a formula in the constants of a problem, such as ``3/L``."""
    if not isinstance(value, str) or len(value) > LONGEST:
        return False
    formula = _TOKENS.fullmatch(value) and _CONSTANT.search(value)
    return bool(formula and re.search(r"[-+*/(]", value))


def evaluate_formulas(
    constants: Constants, parameters: Mapping[str, Any], string_names: Collection[str], owner: str
) -> dict[str, Any]:
    """Return parameters with formulas evaluated; parameters in `string_names` remain strings.

    Raises
    ------
    InputError
        If a formula has no value.
    RefusedError
        If the problem does not state a constant; the message names `owner`.
    """
    return {
        name: _parse_number(name, value, constants, owner)
        if name not in string_names and is_formula_in_constants(value)
        else value
        for name, value in parameters.items()
    }


def _parse_number(name: str, formula: str, constants: Constants, owner: str) -> int | float:
    purpose = f"{name}={formula} of {owner}"
    try:
        return _evaluate(ast.parse(formula.strip(), mode="eval").body, constants, purpose)
    except (SyntaxError, ArithmeticError, ValueError) as error:
        raise InputError(
            f"{name}={formula!r} has no value ({str(error) or type(error).__name__}): write a "
            "formula of numbers and constants, as in 3/L or ceil(n/8)."
        ) from None


def _evaluate(node: ast.expr, constants: Constants, purpose: str) -> int | float:
    match node:
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.Name(id="n"):
            return int(constants.require("n", purpose))
        case ast.Name(id="L"):
            return constants.smoothness(purpose)
        case ast.Name(id=name) if name in MEANING:
            return constants.require(name, purpose)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATIONS:
            operation = _OPERATIONS[type(op)]
            return operation(
                _evaluate(left, constants, purpose), _evaluate(right, constants, purpose)
            )
        case ast.Call(func=ast.Name(id="ceil"), args=[item], keywords=[]):
            # Up to rounding errors, as schedules round.
            return math.ceil(_evaluate(item, constants, purpose) * (1.0 - 1e-12))
        case ast.Call(func=ast.Name(id="sqrt"), args=[item], keywords=[]):
            return math.sqrt(_evaluate(item, constants, purpose))
        case _:
            raise ValueError(f"{ast.unparse(node)} is not allowed in a formula")
