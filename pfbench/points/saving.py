"""Saving a point as plain arrays, so that a run goes on from it with the same bits elsewhere."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pfbench.base.errors import InputError
from pfbench.points.factored import Factored

Arrays = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Held:
    """A point as it stood when it was held, to be saved later.

    Attributes
    ----------
    point
        The point, or a twin of it.
    atoms_used
        The number of atoms of its sequence then; 0 for an array.
    """

    point: Any
    atoms_used: int

    def arrays(self) -> Arrays:
        """Return all that the bits of the point and of its next moves depend on, by name.

        Raises
        ------
        StalePoint
            If the point itself was held, and its sequence has moved past it.
        """
        if isinstance(self.point, Factored):
            return self.point.arrays(self.atoms_used)
        return {"dense": self.point}


def hold(x: Any, *, moves: bool) -> Held:
    """Return a point as it stands, to be saved later.

    Parameters
    ----------
    moves
        Whether its sequence moves on before it is saved; only then is anything copied.

    Raises
    ------
    InputError
        If x is neither an array nor a factored matrix.
    StalePoint
        If x is factored and not the newest point of its sequence.
    """
    if isinstance(x, Factored):
        return Held(x.twin() if moves else x, x.atoms_used)
    if isinstance(x, np.ndarray):
        # Not keep(x), which may change the order in memory, and so the last bits of a product.
        return Held(np.array(x) if moves else x, 0)
    raise InputError(f"a point must be an array or a factored matrix, not {type(x).__name__}.")


def restored(saved: Mapping[str, npt.NDArray[Any]], start: Any) -> Any:
    """Return a saved point; `start` is any point of the same problem.

    Raises
    ------
    InputError
        If the arrays are not those of a point of this problem.
    """
    if isinstance(start, Factored):
        if "values" in saved and saved["values"].shape == (start.pattern.n,):
            return Factored.from_arrays(start.pattern, saved)
    elif "dense" in saved and saved["dense"].shape == np.shape(start):
        return np.array(saved["dense"])
    raise InputError("the saved point is not one of this problem: begin the run anew.")
