"""Numbers for replays: rationals with symbolic square roots, and decimals that log comparisons.

Neither converts to a float: a computation that leaves the arithmetic raises `Inexact`.
"""

import decimal
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

_MAX_BITS = 6000
"""Size of a numerator or denominator above which a rational replay is given up."""

_MAX_DENOMINATOR = 2**20
"""Largest denominator of a float that is taken to be exact."""


class Inexact(Exception):
    """An operation that the arithmetic of a replay does not have."""


def to_fraction(value: Any) -> Fraction | None:
    """Return an integer, fraction or short dyadic float as a fraction; None for anything else.

    Raises
    ------
    Inexact
        If it is a float with a longer fraction, which is the result of rounding.
    """
    if isinstance(value, int | Fraction | np.integer | np.bool):
        return value if isinstance(value, Fraction) else Fraction(int(value))
    if isinstance(value, float | np.floating):
        if not math.isfinite(value):
            raise Inexact(f"{value} enters the computation")
        exact = Fraction(float(value))
        if exact.denominator > _MAX_DENOMINATOR:
            raise Inexact(f"the float {value} enters the computation")
        return exact
    return None


class Number:
    """A number of a replay; subclasses implement the operations on their own kind."""

    __slots__ = ()

    @classmethod
    def convert(cls, value: Any) -> Self | None:
        """Return a value as a number of this kind; None where it is no scalar."""
        if isinstance(value, cls):
            return value
        exact = to_fraction(value)
        return None if exact is None else cls.from_fraction(exact)

    @classmethod
    def from_fraction(cls, value: Fraction) -> Self:
        """Return a fraction as a number."""
        raise NotImplementedError

    def to_float(self) -> float:
        """Return the nearest float."""
        raise NotImplementedError

    def add(self, other: Any) -> Any:
        """Return the sum."""
        raise NotImplementedError

    def multiply(self, other: Any) -> Any:
        """Return the product."""
        raise NotImplementedError

    def inverse(self) -> Any:
        """Return 1 over the number."""
        raise NotImplementedError

    def sign(self) -> int:
        """Return the sign."""
        raise NotImplementedError

    def sqrt(self) -> Any:
        """Return the square root."""
        raise NotImplementedError

    def compare(self, other: Any) -> int:
        """Return the sign of the difference."""
        sign: int = self.add(-other).sign()
        return sign

    def __add__(self, other: Any) -> Any:
        value = self.convert(other)
        return NotImplemented if value is None else self.add(value)

    def __sub__(self, other: Any) -> Any:
        value = self.convert(other)
        return NotImplemented if value is None else self.add(-value)

    def __rsub__(self, other: Any) -> Any:
        value = self.convert(other)
        return NotImplemented if value is None else value.add(-self)

    def __mul__(self, other: Any) -> Any:
        value = self.convert(other)
        return NotImplemented if value is None else self.multiply(value)

    def __truediv__(self, other: Any) -> Any:
        value = self.convert(other)
        return NotImplemented if value is None else self.multiply(value.inverse())

    def __rtruediv__(self, other: Any) -> Any:
        value = self.convert(other)
        return NotImplemented if value is None else value.multiply(self.inverse())

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> Any:
        return self.multiply(self.from_fraction(Fraction(-1)))

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return -self if self.sign() < 0 else self

    def conjugate(self) -> Any:
        """Return the number, which is real."""
        return self

    def __pow__(self, exponent: Any) -> Any:
        power = self.convert(exponent)
        if power is None:
            return NotImplemented
        return self.power(power)

    def __rpow__(self, base: Any) -> Any:
        value = self.convert(base)
        return NotImplemented if value is None else value.power(self)

    def power(self, exponent: Any) -> Any:
        """Return a power: of a whole or half exponent by products and square roots."""
        twice = exponent.multiply(self.from_fraction(Fraction(2))).to_float()
        if abs(twice) > 10**6 or twice != int(twice):
            raise Inexact("a power with a general exponent")
        base = self if twice % 2 == 0 else self.sqrt()
        times = abs(int(twice)) // 2 if twice % 2 == 0 else abs(int(twice))
        result: Any = self.from_fraction(Fraction(1))
        while times:
            result = result.multiply(base) if times % 2 else result
            base, times = base.multiply(base) if times > 1 else base, times // 2
        return result.inverse() if twice < 0 else result

    def _compared(self, other: Any) -> Any:
        if isinstance(other, float) and math.isinf(other):
            return -1 if other > 0 else 1
        value = self.convert(other)
        return None if value is None else self.compare(value)

    def __eq__(self, other: object) -> Any:
        sign = self._compared(other)
        return NotImplemented if sign is None else sign == 0

    def __lt__(self, other: Any) -> Any:
        sign = self._compared(other)
        return NotImplemented if sign is None else sign < 0

    def __le__(self, other: Any) -> Any:
        sign = self._compared(other)
        return NotImplemented if sign is None else sign <= 0

    def __gt__(self, other: Any) -> Any:
        sign = self._compared(other)
        return NotImplemented if sign is None else sign > 0

    def __ge__(self, other: Any) -> Any:
        sign = self._compared(other)
        return NotImplemented if sign is None else sign >= 0

    def __hash__(self) -> int:
        return hash(self.to_float())

    def __bool__(self) -> bool:
        return self.compare(self.from_fraction(Fraction(0))) != 0

    def __float__(self) -> float:
        raise Inexact("a number of the replay is converted to a float")

    def __repr__(self) -> str:
        return f"{self.to_float():.17g}"


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

    def to_float(self) -> float:
        """Return the nearest float."""
        return float(self.factor) * math.sqrt(self.root)

    def add(self, other: "Exact") -> "Exact":
        """Return the sum, of multiples of one root."""
        if not other.factor or not self.factor:
            return self if self.factor else other
        if other.root == self.root:
            return Exact(self.factor + other.factor, self.root)
        ratio = _rational_root(other.root / self.root)
        if ratio is None:
            raise Inexact("a sum of different square roots")
        return Exact(self.factor + other.factor * ratio, self.root)

    def multiply(self, other: "Exact") -> "Exact":
        """Return the product."""
        factor = self.factor * other.factor
        if self.root == other.root:
            return Exact(factor * self.root)
        root = self.root * other.root
        known = _rational_root(root)
        return Exact(factor, root) if known is None else Exact(factor * known)

    def inverse(self) -> "Exact":
        """Return 1 over the number."""
        return Exact(1 / (self.factor * self.root), self.root)

    def sign(self) -> int:
        """Return the sign."""
        return (self.factor > 0) - (self.factor < 0)

    def sqrt(self) -> "Exact":
        """Return the square root of a rational, symbolic where it is irrational."""
        if self.root != 1:
            raise Inexact("a root of a root")
        if self.factor < 0:
            raise Inexact("a root of a negative number")
        known = _rational_root(self.factor)
        return Exact(Fraction(1), self.factor) if known is None else Exact(known)

    def compare(self, other: "Exact") -> int:
        """Return the sign of the difference, by squares."""
        mine, others = self.sign(), other.sign()
        if mine != others:
            return (mine > others) - (mine < others)
        a, b = self.factor**2 * self.root, other.factor**2 * other.root
        return mine * ((a > b) - (a < b))

    def __hash__(self) -> int:
        return hash(self.factor**2 * self.root)

    def __int__(self) -> int:
        if self.root != 1:
            raise Inexact("an irrational number is rounded")
        return int(self.factor)

    def __floor__(self) -> int:
        return math.floor(self._rational())

    def __ceil__(self) -> int:
        return math.ceil(self._rational())

    def _rational(self) -> Fraction:
        if self.root != 1:
            raise Inexact("an irrational number is rounded")
        return self.factor

    def __str__(self) -> str:
        if self.root == 1:
            return str(self.factor)
        return f"sqrt({self.factor**2 * self.root})" if self.factor > 0 else repr(self)


class Digits(Number):
    """A decimal; `kind` makes a subclass for each replay, with its precision and comparisons."""

    __slots__ = ("value",)

    context: ClassVar[decimal.Context]
    differences: ClassVar[list[Decimal]]

    def __init__(self, value: Decimal) -> None:
        self.value = value

    @staticmethod
    def kind(digits: int) -> "type[Digits]":
        """Return the numbers of a replay with so many digits."""
        context = decimal.Context(prec=digits, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)
        return type("Digits", (Digits,), {"context": context, "differences": [], "__slots__": ()})

    @classmethod
    def from_fraction(cls, value: Fraction) -> Self:
        """Return a fraction, rounded."""
        context = cls.context
        return cls(context.divide(Decimal(value.numerator), Decimal(value.denominator)))

    def to_float(self) -> float:
        """Return the nearest float."""
        return float(self.value)

    def add(self, other: "Digits") -> "Digits":
        """Return the sum."""
        return type(self)(self.context.add(self.value, other.value))

    def multiply(self, other: "Digits") -> "Digits":
        """Return the product."""
        return type(self)(self.context.multiply(self.value, other.value))

    def inverse(self) -> "Digits":
        """Return 1 over the number."""
        return type(self)(self.context.divide(Decimal(1), self.value))

    def sign(self) -> int:
        """Return the sign."""
        return self.compare(self.from_fraction(Fraction(0)))

    def sqrt(self) -> "Digits":
        """Return the square root."""
        if self.value < 0:
            raise Inexact("a root of a negative number")
        return type(self)(self.context.sqrt(self.value))

    def exp(self) -> "Digits":
        """Return e to the number."""
        return type(self)(self.context.exp(self.value))

    def log(self) -> "Digits":
        """Return the natural logarithm."""
        return type(self)(self.context.ln(self.value))

    def power(self, exponent: "Digits") -> Any:
        """Return a power."""
        try:
            return super().power(exponent)
        except Inexact:
            return type(self)(self.context.power(self.value, exponent.value))

    def compare(self, other: "Digits") -> int:
        """Return the sign of the difference, and note the difference."""
        difference = self.context.subtract(self.value, other.value)
        self.differences.append(difference)
        return (difference > 0) - (difference < 0)

    def __neg__(self) -> "Digits":
        return type(self)(self.context.minus(self.value))

    def __int__(self) -> int:
        return int(self.value)

    def __floor__(self) -> int:
        return self._rounded(decimal.ROUND_FLOOR)

    def __ceil__(self) -> int:
        return self._rounded(decimal.ROUND_CEILING)

    def _rounded(self, rounding: str) -> int:
        whole = self.value.to_integral_value(rounding)
        self.differences.append(self.context.subtract(self.value, whole))
        return int(whole)

    def __str__(self) -> str:
        return str(self.value)


def _rational_root(value: Fraction) -> Fraction | None:
    """Return the square root of a nonnegative fraction if it is rational."""
    p, q = math.isqrt(value.numerator), math.isqrt(value.denominator)
    square = p * p == value.numerator and q * q == value.denominator
    return Fraction(p, q) if square else None


def comparisons_agree(first: list[Decimal], second: list[Decimal]) -> bool:
    """Return whether two replays compared the same numbers: equal to three digits, or both 0."""
    if len(first) != len(second):
        return False
    return all(
        a == b or (a and b and abs(a - b) <= abs(b) / 1000)
        for a, b in zip(first, second, strict=True)
    )
