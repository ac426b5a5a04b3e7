"""Targets: a run stops when a measure is at most a number."""

from dataclasses import dataclass

from pfbench.base.checks import real
from pfbench.base.errors import InputError


@dataclass(frozen=True, slots=True)
class Stop:
    """Stop when `measure` is at most `target`; of an interval measure the upper end counts."""

    measure: str
    target: float

    def __post_init__(self) -> None:
        real(f"the target of {self.measure}", self.target)

    @classmethod
    def parse(cls, text: str) -> "Stop":
        """Read ``"fw_gap=0.01"``.

        Raises
        ------
        InputError
            If the text does not have that form.
        """
        name, _, number = (piece.strip() for piece in text.partition("="))
        try:
            return cls(name, float(number))
        except ValueError:
            raise InputError(
                f"cannot read the target {text!r}: write MEASURE=NUMBER, as in fw_gap=0.01."
            ) from None
