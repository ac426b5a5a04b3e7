"""Array libraries that follow the Python array API standard, on any device."""

from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from pfbench.base.arrays import Floats
from pfbench.base.checks import check_text, find_entry
from pfbench.base.errors import InputError
from pfbench.points.operators import DenseOperator

_MODULES = MappingProxyType(
    {
        "torch": ("array_api_compat.torch", '"pfbench[gpu]"'),
        "cupy": ("array_api_compat.cupy", '"pfbench[gpu]" cupy'),
        "array-api-strict": ("array_api_strict", "array-api-strict"),
    }
)
"""Module of functions, and package to install, by name."""


@dataclass(frozen=True)
class ArrayLibrary:
    """Array library and device.

    Attributes
    ----------
    name
        NAME or NAME:DEVICE, as in "torch:cuda".
    xp
        The functions of the array API.
    device
        The device, None for the library's default.
    """

    name: str
    xp: Any
    device: Any

    def as_floats(self, array: npt.ArrayLike) -> Any:
        """Copy numbers to a double-precision array of the library."""
        value = np.array(array, dtype=np.float64, order="C")
        return self.xp.asarray(value, device=self.device)

    def integers(self, array: npt.ArrayLike) -> Any:
        """Copy integers to an array of the library."""
        return self.xp.asarray(np.array(array, dtype=np.int64), device=self.device)

    def as_numpy(self, array: Any) -> Floats:
        """Return an array of the library as a NumPy array."""
        if hasattr(array, "cpu"):
            array = array.cpu()
        return np.asarray(array.get() if hasattr(array, "get") else array)


def load_array_library(name: str) -> ArrayLibrary:
    """Return a library by NAME or NAME:DEVICE: torch, torch:cuda, cupy, array-api-strict.

    Raises
    ------
    InputError
        If the name is unknown, the library is not installed, or the library has no such device.
    """
    base, _, device = check_text("arrays", name, "torch:cuda").partition(":")
    module, install = find_entry("array library", base, _MODULES)
    try:
        xp = import_module(module)
    except ImportError as error:
        raise InputError(f"{base} is not installed: pip install {install}.") from error
    try:
        library = ArrayLibrary(name, xp, _device(base, device) if device else None)
        library.as_floats([0.0])
    except Exception as error:  # each library has errors of its own
        first = (str(error).splitlines() or [""])[0]
        raise InputError(f"{base} has no device {device!r} here ({first}).") from error
    return library


def _device(base: str, name: str) -> Any:
    if base == "torch":
        return import_module("torch").device(name)
    if base == "cupy":
        return import_module("cupy").cuda.Device(int(name))
    raise ValueError("only torch and cupy take a device")


class ArrayOperator(DenseOperator):
    """Dense matrix, multiplied on the device of an array library.

    The matrix is copied there once. Each step of Golub-Kahan-Lanczos transfers only vectors.
    """

    def __init__(self, library: ArrayLibrary, array: Floats) -> None:
        super().__init__(array)
        self._library, self._array = library, library.as_floats(array)

    def golub_kahan_step(
        self, v: Floats, previous: Floats, beta: float, u: Floats, y: Floats
    ) -> float:
        """Write ``u = G v - beta * previous`` and ``y = G' u``; return the sum of squares of u."""
        library = self._library
        product = self._array @ library.as_floats(v)
        if beta:
            product = product - beta * library.as_floats(previous)
        u[:] = library.as_numpy(product)
        y[:] = library.as_numpy(product @ self._array)
        return float(u @ u)

    def scale(self, factor: float) -> "ArrayOperator":
        """Return factor * G."""
        return ArrayOperator(self._library, factor * self.array)
