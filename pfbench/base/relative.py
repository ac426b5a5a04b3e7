"""Parameters as formulas of the problem's constants: ``step=3/L``, ``period=ceil(n/8)``.

A formula may have numbers, the names of `pfbench.base.constants.MEANING`, L (see `Constants.L`),
``+ - * /``, parentheses, ceil and sqrt. It is evaluated once the problem is known.
"""

import ast
import math
import operator
import re
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Any

from pfbench.base.constants import MEANING, Constants
from pfbench.base.errors import InputError

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


def is_constant_formula(value: Any) -> bool:
    """Return whether a value is a formula: allowed parts only, a constant and an operator."""
    if not isinstance(value, str) or len(value) > LONGEST:
        return False
    formula = _TOKENS.fullmatch(value) and _CONSTANT.search(value)
    return bool(formula and re.search(r"[-+*/(]", value))


def evaluate_formulas(
    constants: Constants, parameters: Mapping[str, Any], texts: Collection[str], owner: str
) -> dict[str, Any]:
    """Return parameters with formulas evaluated; those named in `texts` remain strings.

    Raises
    ------
    InputError
        If a formula has no value.
    RefusedError
        If the problem does not state a constant; the message names `owner`.
    """
    return {
        name: _parse_number(name, value, constants, owner)
        if name not in texts and is_constant_formula(value)
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
            return constants.n
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
