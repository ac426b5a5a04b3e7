"""Exact numbers: rationals with symbolic square roots, and decimals that log comparisons.

A replay repeats a run with exact or more precise numbers. Conversion to a float, and operations
that such numbers lack, raise `Inexact`.
"""

import decimal
import math
import numbers
import operator
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

_MAX_BITS = 12000
"""Bits of a squared numerator or denominator above which a rational replay is abandoned."""

_MAX_DENOMINATOR = 2**20
"""Largest denominator of a float that counts as exact; a larger one is due to rounding."""


class Inexact(Exception):
    """Exception raised if a run cannot be recomputed with exact numbers."""


def _make_operator(name: str, is_reflected: bool = False) -> Callable[[Any, Any], Any]:
    """Return a binary operator that first converts its argument to an exact number."""

    def method(self: Any, other: Any) -> Any:
        value = self.convert_scalar(other)
        if value is None:
            return NotImplemented
        return getattr(value, name)(self) if is_reflected else getattr(self, name)(value)

    return method


def _make_comparison(test: Callable[[int, int], bool]) -> Callable[[Any, Any], Any]:
    """Return an operator that compares an exact number with another number or an infinity."""

    def method(self: Any, other: Any) -> Any:
        if isinstance(other, float) and math.isinf(other):
            return test(-1 if other > 0 else 1, 0)
        value = self.convert_scalar(other)
        return NotImplemented if value is None else test(self.compare(value), 0)

    return method


def _make_rounding_operator(round_number: Callable[[Any], int]) -> Callable[[Any], int]:
    """Return an operator that rounds an exact number to an integer by `round_number`."""
    return lambda number: int(number.round(round_number))


def _is_short(value: float) -> bool:
    return math.isfinite(value) and Fraction(value).denominator <= _MAX_DENOMINATOR


class Number:
    """Base class of the numbers with which a run is recomputed: exact, or with many digits."""

    from_value: ClassVar[Any]
    as_float: Any

    @classmethod
    def convert_scalar(cls, value: Any) -> Any:
        """Return a value as a number of this class; None if it is no scalar.

        Raises
        ------
        Inexact
            If it is a float that is not exact.
        """
        if isinstance(value, cls):
            return value
        plain = value.item() if isinstance(value, np.number | np.bool) else value
        if isinstance(plain, float) and not _is_short(plain):
            raise Inexact(f"the computation uses the rounded float {value}")
        return cls.from_value(plain) if isinstance(plain, int | float | Fraction) else None

    __add__ = __radd__ = _make_operator("add")
    __sub__, __rsub__ = _make_operator("subtract"), _make_operator("subtract", True)
    __mul__ = __rmul__ = _make_operator("multiply")
    __truediv__, __rtruediv__ = _make_operator("divide"), _make_operator("divide", True)
    __pow__, __rpow__ = _make_operator("power"), _make_operator("power", True)
    __eq__ = _make_comparison(operator.eq)
    __lt__, __le__ = _make_comparison(operator.lt), _make_comparison(operator.le)
    __gt__, __ge__ = _make_comparison(operator.gt), _make_comparison(operator.ge)

    def __neg__(self) -> Any:
        return 0 - self

    def __pos__(self) -> Any:
        return self

    conjugate = __pos__

    def __abs__(self) -> Any:
        return -self if self < 0 else self

    __int__, __floor__ = _make_rounding_operator(int), _make_rounding_operator(math.floor)
    __ceil__ = _make_rounding_operator(math.ceil)

    def __hash__(self) -> int:
        return hash(self.as_float())

    def __bool__(self) -> bool:
        return bool(self != 0)

    def __float__(self) -> float:
        raise Inexact("the code converts an exact number to a float")


numbers.Real.register(Number)


def as_float(value: Any) -> float:
    """Return the float nearest to a number of any type."""
    return float(value.as_float()) if isinstance(value, Number) else float(value)


class RationalOrRoot(Number):
    """Rational number or square root of one, stored as its square with the sign of the number."""

    def __init__(self, square: Fraction) -> None:
        if max(square.numerator.bit_length(), square.denominator.bit_length()) > _MAX_BITS:
            raise Inexact(f"the code computes a rational number of more than {_MAX_BITS} bits")
        self.square = square

    @classmethod
    def from_value(cls, value: float | Fraction) -> Self:
        """Convert a float, an integer or a fraction to a `RationalOrRoot`, without rounding."""
        exact = Fraction(value)
        return cls(exact * abs(exact))

    def as_float(self) -> float:
        """Return the float nearest to the number."""
        return math.copysign(math.sqrt(abs(self.square)), self.square)

    def add(self, other: "RationalOrRoot") -> "RationalOrRoot":
        """Return the sum of two numbers that are rational multiples of the same root."""
        if not other.square or not self.square:
            return self if self.square else other
        quotient = self.square / other.square
        factor = 1 + _square_root_with_sign(quotient, "a sum of different square roots")
        return RationalOrRoot(other.square * factor * abs(factor))

    def subtract(self, other: "RationalOrRoot") -> "RationalOrRoot":
        """Return the difference of two rational multiples of the same root."""
        return self.add(RationalOrRoot(-other.square))

    def multiply(self, other: "RationalOrRoot") -> "RationalOrRoot":
        """Return the product of two numbers."""
        return RationalOrRoot(self.square * other.square)

    def divide(self, other: "RationalOrRoot") -> "RationalOrRoot":
        """Return the quotient of two numbers."""
        return RationalOrRoot(self.square / other.square)

    def power(self, exponent: "RationalOrRoot") -> "RationalOrRoot":
        """Return the number raised to a power that is an integer or half of an integer."""
        twice = 2 * exponent.round(Fraction)
        if twice.denominator > 1 or abs(twice) > 10**6:
            raise Inexact("the code takes a power whose exponent is not an integer or half of one")
        base = self if twice % 2 == 0 else self.sqrt()
        return RationalOrRoot(base.square ** int(twice / 2 if twice % 2 == 0 else twice))

    def sqrt(self) -> "RationalOrRoot":
        """Return the exact square root of a rational number."""
        if self.square < 0:
            raise Inexact("the code takes the square root of a negative number")
        return RationalOrRoot(self.round(Fraction))

    def compare(self, other: "RationalOrRoot") -> int:
        """Return the sign of the difference of two numbers, -1, 0 or 1."""
        return (self.square > other.square) - (self.square < other.square)

    def round(self, convert: Callable[[Any], Any]) -> Any:
        """Return `convert(number)` for a rational number; raise `Inexact` if it is irrational."""
        reason = "an irrational number is rounded, or its root is taken"
        return convert(_square_root_with_sign(self.square, reason))

    def __repr__(self) -> str:
        try:
            return str(self.round(Fraction))
        except Inexact:
            return f"{'-' * (self.square < 0)}sqrt({abs(self.square)})"


def _square_root_with_sign(square: Fraction, reason: str) -> Fraction:
    """Return sign(square) sqrt(|square|) as a fraction; raise `Inexact` if it is irrational."""
    p, q = math.isqrt(abs(square.numerator)), math.isqrt(square.denominator)
    if p * p != abs(square.numerator) or q * q != square.denominator:
        raise Inexact(reason)
    return Fraction(-p if square < 0 else p, q)


def _make_decimal_method(name: str) -> Callable[..., Any]:
    """Return a method of `Digits` that applies an operation of the decimal context."""

    def method(self: Any, *arguments: Any) -> Any:
        values = (self.value, *(other.value for other in arguments))
        return type(self)(getattr(self.context, name)(*values))

    return method


class Digits(Number):
    """Decimal number with a fixed number of digits, which logs its comparisons and roundings.

    `make_type` returns a subclass, with a precision and a log, for each run that is recomputed.
    """

    context: ClassVar[decimal.Context]
    differences: ClassVar[list[Decimal]]

    def __init__(self, value: Decimal) -> None:
        self.value = value

    @staticmethod
    def make_type(digits: int) -> "type[Digits]":
        """Return a new class of decimal numbers with this many digits and an empty log."""
        context = decimal.Context(prec=digits, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)
        return type("Digits", (Digits,), {"context": context, "differences": []})

    @classmethod
    def from_value(cls, value: float | Fraction) -> Self:
        """Return the `Digits` nearest to a float, an integer or a fraction."""
        numerator, denominator = Fraction(value).as_integer_ratio()
        return cls(cls.context.divide(Decimal(numerator), Decimal(denominator)))

    def as_float(self) -> float:
        """Return the float nearest to the number."""
        return float(self.value)

    add, subtract = _make_decimal_method("add"), _make_decimal_method("subtract")
    multiply, divide = _make_decimal_method("multiply"), _make_decimal_method("divide")
    power, sqrt = _make_decimal_method("power"), _make_decimal_method("sqrt")
    exp, log = _make_decimal_method("exp"), _make_decimal_method("ln")

    def compare(self, other: "Digits") -> int:
        """Return the sign of the difference of two numbers, and log the difference."""
        difference = self.context.subtract(self.value, other.value)
        self.differences.append(difference)
        return (difference > 0) - (difference < 0)

    def round(self, convert: Callable[[Any], Any]) -> Any:
        """Convert the number by `convert`, and log the change that rounding makes."""
        integer = convert(self.value)
        self.differences.append(self.context.subtract(self.value, Decimal(integer)))
        return integer

    def __repr__(self) -> str:
        return str(self.value)

    @staticmethod
    def comparisons_agree(first: "type[Digits]", second: "type[Digits]") -> bool:
        """Return whether the differences of compared numbers agree in two precisions.

        Two differences agree if they are equal up to a thousandth, or both 0.
        """
        pairs = list(zip(first.differences, second.differences, strict=False))
        are_close = [a == b or (a and b and abs(a - b) <= abs(b) / 1000) for a, b in pairs]
        return len(first.differences) == len(second.differences) and all(are_close)
