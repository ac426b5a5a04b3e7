"""Oracle counts and budgets."""

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from pfbench.base.checks import check_real, check_text
from pfbench.base.errors import InputError
from pfbench.base.names import unknown_name_error


class OracleKind(StrEnum):
    """Kind of counted oracle calls; its string value is the name of its count, such as `sfo`.

    To add a kind, add a member here, a field to `Counts` and `Budget`, and a name to the first line
    of ``oracles/ledger.py``. Charge the calls in ``oracles/bundle.py``, and in the independent
    ``verification/instruments/oracle_tally.py``. Add a word to the lists in ``cli/schemas/`` and to
    ``docs/counting.md``. Columns, budgets, labels and tables derive from this class.
    """

    meaning: str
    label: str

    def __new__(cls, name: str, meaning: str, label: str) -> Self:
        """Return a new member with a name, the unit of its count, and its label in figures."""
        kind = str.__new__(cls, name)
        kind._value_ = name
        kind.meaning, kind.label = meaning, label
        return kind

    FO = ("fo", "full gradients (their n component gradients are in sfo)", "FO (full gradients)")
    SFO = (
        "sfo",
        "component gradients: n for a full gradient, 2|S| for a difference at two points",
        "SFO (component gradients)",
    )
    SSO = (
        "sso",
        "component Hessians evaluated, however often they are then applied",
        "SSO (component Hessians)",
    )
    HVP = (
        "hvp",
        "component Hessian-vector products: n for the full product, |S| for a batch",
        "HVP (Hessian-vector products)",
    )
    LO = ("lo", "linear minimisations over the feasible set", "LO calls")
    PO = ("po", "proximal maps or projections", "PO calls")
    FV = ("fv", "component function values that the algorithm queries", "FV (component values)")
    LLO = (
        "llo",
        "local linear minimisations: over the part of the set within a distance of a point",
        "LLO calls",
    )


COUNTED = tuple(kind.value for kind in OracleKind)
"""Names of the counts, in the order of tables."""

MEANING = {kind.value: kind.meaning for kind in OracleKind}


@dataclass(frozen=True, slots=True)
class Counts:
    """Numbers of oracle calls by kind; `MEANING` states the unit of each."""

    fo: int = 0
    sfo: int = 0
    sso: int = 0
    hvp: int = 0
    lo: int = 0
    po: int = 0
    fv: int = 0
    llo: int = 0

    def as_dict(self) -> dict[str, int]:
        """Return the counts by name."""
        return {name: getattr(self, name) for name in COUNTED}  # asdict would copy each number


@dataclass(frozen=True, slots=True)
class Budget:
    """Maximum numbers of oracle calls; a run stops before a call that would exceed one of them.

    Every field is a number of calls in the units of `Counts`; infinity means no limit.

    Raises
    ------
    InputError
        If a limit is negative or NaN.
    """

    fo: float = math.inf
    sfo: float = math.inf
    sso: float = math.inf
    hvp: float = math.inf
    lo: float = math.inf
    po: float = math.inf
    fv: float = math.inf
    llo: float = math.inf

    def __post_init__(self) -> None:
        for name in COUNTED:
            limit = getattr(self, name)
            if not isinstance(limit, float) or limit != math.inf:
                check_real(f"budget {name}", limit, minimum=0)

    @property
    def limits(self) -> dict[str, float]:
        """Finite limits of the budget, by name of the count."""
        limits = {name: getattr(self, name) for name in COUNTED}
        return {name: limit for name, limit in limits.items() if limit != math.inf}

    @classmethod
    def parse(cls, value: str) -> "Budget":
        """Parse a budget such as ``"sfo=10000,lo=100"``.

        Raises
        ------
        InputError
            If a name is unknown, a number is missing, or it is negative.
        """
        limits: dict[str, float] = {}
        for part in check_text("budget", value, "sfo=10000,lo=100").split(","):
            name, equals, number = (piece.strip() for piece in part.partition("="))
            if not equals and name not in COUNTED:
                raise InputError(
                    f"cannot read the budget {value!r}: write COUNT=NUMBER, as in sfo=10000,lo=100."
                )
            if name not in COUNTED:
                raise unknown_name_error("count in the budget", name, COUNTED)
            if name in limits:
                raise InputError(f"{name} is given twice in the budget {value!r}.")
            try:
                limits[name] = float(number)
            except ValueError:
                raise InputError(
                    f"budget {name}={number!r} must be a number, as in sfo=10000,lo=100."
                ) from None
        return cls(**limits)
