"""Numbers for replays: rationals with symbolic square roots, and decimals that log comparisons.

Neither converts to a float: a computation that leaves the arithmetic raises `Inexact`.
"""

import decimal
import math
import operator
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

_MAX_BITS = 6000
"""Size of a numerator or denominator above which a rational replay is abandoned."""

_MAX_DENOMINATOR = 2**20
"""Largest denominator of a float that is taken to be exact."""


class Inexact(Exception):
    """An operation that the arithmetic of a replay lacks."""


def parse_fraction(value: Any) -> Fraction | None:
    """Return an integer, fraction or short dyadic float as a fraction; None for anything else.

    Raises
    ------
    Inexact
        If it is a float with a longer fraction, which is the result of rounding.
    """
    if isinstance(value, Fraction):
        return value
    if isinstance(value, int | np.integer | np.bool):
        return Fraction(int(value))
    if isinstance(value, float | np.floating):
        if not math.isfinite(value):
            raise Inexact(f"{value} enters the computation")
        exact = Fraction(float(value))
        if exact.denominator > _MAX_DENOMINATOR:
            raise Inexact(f"the float {value} enters the computation")
        return exact
    return None


def _operation(apply: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return a method that converts its argument first."""

    def method(self: Any, other: Any) -> Any:
        value = self.convert(other)
        return NotImplemented if value is None else apply(self, value)

    return method


def _comparison(test: Callable[[int, int], bool]) -> Callable[[Any, Any], Any]:
    """Return a method that compares with a number or an infinity."""

    def method(self: Any, other: Any) -> Any:
        if isinstance(other, float) and math.isinf(other):
            return test(-1 if other > 0 else 1, 0)
        value = self.convert(other)
        return NotImplemented if value is None else test(self.compare(value), 0)

    return method


class Number:
    """A number of a replay; subclasses implement the operations on their own kind."""

    __slots__ = ()

    from_fraction: ClassVar[Any]
    add: Any
    multiply: Any
    inverse: Any
    sqrt: Any
    as_float: Any

    @classmethod
    def convert(cls, value: Any) -> Any:
        """Return a value as a number of this kind; None where it is no scalar."""
        if isinstance(value, cls):
            return value
        exact = parse_fraction(value)
        return None if exact is None else cls.from_fraction(exact)

    def compare(self, other: Any) -> int:
        """Return the sign of the difference."""
        raise NotImplementedError

    def power(self, exponent: Any) -> Any:
        """Return a power: of a whole or half exponent by products and square roots."""
        twice = (2 * exponent).as_float()
        if abs(twice) > 10**6 or twice != int(twice):
            raise Inexact("a power with a general exponent")
        base = self if twice % 2 == 0 else self.sqrt()
        times = abs(int(twice)) // 2 if twice % 2 == 0 else abs(int(twice))
        result: Any = self.from_fraction(Fraction(1))
        while times:
            result = result.multiply(base) if times % 2 else result
            base, times = base.multiply(base) if times > 1 else base, times // 2
        return result.inverse() if twice < 0 else result

    __add__ = __radd__ = _operation(lambda a, b: a.add(b))
    __sub__, __rsub__ = _operation(lambda a, b: a.add(-b)), _operation(lambda a, b: b.add(-a))
    __mul__ = __rmul__ = _operation(lambda a, b: a.multiply(b))
    __truediv__ = _operation(lambda a, b: a.multiply(b.inverse()))
    __rtruediv__ = _operation(lambda a, b: b.multiply(a.inverse()))
    __pow__, __rpow__ = _operation(lambda a, b: a.power(b)), _operation(lambda a, b: b.power(a))
    __eq__ = _comparison(operator.eq)
    __lt__, __le__ = _comparison(operator.lt), _comparison(operator.le)
    __gt__, __ge__ = _comparison(operator.gt), _comparison(operator.ge)

    def __neg__(self) -> Any:
        return self.multiply(self.from_fraction(Fraction(-1)))

    def __pos__(self) -> Any:
        return self

    conjugate = __pos__

    def __abs__(self) -> Any:
        return -self if self < 0 else self

    def __hash__(self) -> int:
        return hash(self.as_float())

    def __bool__(self) -> bool:
        return bool(self != 0)

    def __float__(self) -> float:
        raise Inexact("a number of the replay is converted to a float")

    def __repr__(self) -> str:
        return f"{self.as_float():.17g}"


class Exact(Number):
    """A rational times the square root of a positive rational."""

    __slots__ = ("factor", "root")

    def __init__(self, factor: Fraction, root: Fraction = Fraction(1)) -> None:
        for part in (factor, root):
            if max(part.numerator.bit_length(), part.denominator.bit_length()) > _MAX_BITS:
                raise Inexact("the rationals are too long")
        self.factor, self.root = factor, root if factor else Fraction(1)

    @classmethod
    def from_fraction(cls, value: Fraction) -> Self:
        """Return a fraction as a number."""
        return cls(value)

    def as_float(self) -> float:
        """Return the nearest float."""
        return float(self.factor) * math.sqrt(self.root)

    def add(self, other: "Exact") -> "Exact":
        """Return the sum, of multiples of the same root."""
        if not other.factor or not self.factor:
            return self if self.factor else other
        ratio = _rational_root(other.root / self.root)
        if ratio is None:
            raise Inexact("a sum of different square roots")
        return Exact(self.factor + other.factor * ratio, self.root)

    def multiply(self, other: "Exact") -> "Exact":
        """Return the product."""
        factor, root = self.factor * other.factor, self.root * other.root
        rational = self.root if self.root == other.root else _rational_root(root)
        return Exact(factor, root) if rational is None else Exact(factor * rational)

    def inverse(self) -> "Exact":
        """Return 1 over the number."""
        return Exact(1 / (self.factor * self.root), self.root)

    def sqrt(self) -> "Exact":
        """Return the square root of a rational, symbolic where it is irrational."""
        if self._rational() < 0:
            raise Inexact("a root of a negative number")
        rational = _rational_root(self.factor)
        return Exact(Fraction(1), self.factor) if rational is None else Exact(rational)

    def compare(self, other: "Exact") -> int:
        """Return the sign of the difference, by signed squares."""
        a, b = (x.factor * abs(x.factor) * x.root for x in (self, other))
        return (a > b) - (a < b)

    def __hash__(self) -> int:
        return hash(self.factor**2 * self.root)

    def __int__(self) -> int:
        return int(self._rational())

    def __floor__(self) -> int:
        return math.floor(self._rational())

    def __ceil__(self) -> int:
        return math.ceil(self._rational())

    def _rational(self) -> Fraction:
        if self.root != 1:
            raise Inexact("an irrational number is rounded, or its root is taken")
        return self.factor

    def __str__(self) -> str:
        if self.root == 1:
            return str(self.factor)
        return f"{'-' * (self.factor < 0)}sqrt({self.factor**2 * self.root})"


class Digits(Number):
    """A decimal; `make_type` makes a type for each replay, with its precision and comparisons."""

    __slots__ = ("value",)

    context: ClassVar[decimal.Context]
    differences: ClassVar[list[Decimal]]

    def __init__(self, value: Decimal) -> None:
        self.value = value

    @staticmethod
    def make_type(digits: int) -> "type[Digits]":
        """Return the type of the numbers of a replay with this precision."""
        context = decimal.Context(prec=digits, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)
        return type("Digits", (Digits,), {"context": context, "differences": [], "__slots__": ()})

    @classmethod
    def from_fraction(cls, value: Fraction) -> Self:
        """Return a fraction, rounded."""
        return cls(cls.context.divide(Decimal(value.numerator), Decimal(value.denominator)))

    def as_float(self) -> float:
        """Return the nearest float."""
        return float(self.value)

    def _apply(self, name: str, *arguments: Decimal) -> Self:
        return type(self)(getattr(self.context, name)(*arguments))

    def add(self, other: "Digits") -> "Digits":
        """Return the sum."""
        return self._apply("add", self.value, other.value)

    def multiply(self, other: "Digits") -> "Digits":
        """Return the product."""
        return self._apply("multiply", self.value, other.value)

    def inverse(self) -> "Digits":
        """Return 1 over the number."""
        return self._apply("divide", Decimal(1), self.value)

    def sqrt(self) -> "Digits":
        """Return the square root."""
        if self.value < 0:
            raise Inexact("a root of a negative number")
        return self._apply("sqrt", self.value)

    def exp(self) -> "Digits":
        """Return e to the number."""
        return self._apply("exp", self.value)

    def log(self) -> "Digits":
        """Return the natural logarithm."""
        return self._apply("ln", self.value)

    def power(self, exponent: "Digits") -> Any:
        """Return a power."""
        try:
            return super().power(exponent)
        except Inexact:
            return self._apply("power", self.value, exponent.value)

    def compare(self, other: "Digits") -> int:
        """Return the sign of the difference, and log the difference."""
        difference = self.context.subtract(self.value, other.value)
        self.differences.append(difference)
        return (difference > 0) - (difference < 0)

    def __int__(self) -> int:
        return self._round(decimal.ROUND_DOWN)

    def __floor__(self) -> int:
        return self._round(decimal.ROUND_FLOOR)

    def __ceil__(self) -> int:
        return self._round(decimal.ROUND_CEILING)

    def _round(self, rounding: str) -> int:
        integer = self.value.to_integral_value(rounding)
        self.differences.append(self.context.subtract(self.value, integer))
        return int(integer)

    def __str__(self) -> str:
        return str(self.value)


def _rational_root(value: Fraction) -> Fraction | None:
    """Return the square root of a nonnegative fraction if it is rational."""
    p, q = math.isqrt(value.numerator), math.isqrt(value.denominator)
    return Fraction(p, q) if p * p == value.numerator and q * q == value.denominator else None


def comparisons_agree(first: list[Decimal], second: list[Decimal]) -> bool:
    """Return whether two replays compared the same numbers: equal to three digits, or both 0."""
    return len(first) == len(second) and all(
        a == b or (a and b and abs(a - b) <= abs(b) / 1000)
        for a, b in zip(first, second, strict=True)
    )
