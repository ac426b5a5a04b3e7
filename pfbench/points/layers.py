"""Points with named layers: vectors whose parts can be read by name, as arrays of any shape.

The arithmetic of vectors acts layer by layer, as the layers have a fixed order. A problem, a set or
a store may therefore treat such a point as a vector, and a method as named arrays.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from pfbench.base.arrays import Floats
from pfbench.base.checks import check_finite_array
from pfbench.base.errors import InputError
from pfbench.base.names import find_entry

LayerShapes = tuple[tuple[str, tuple[int, ...]], ...]
"""Name and shape of each layer, in order."""


class Layers(np.ndarray[Any, Any]):
    """Vector of named layers; ``x["W1"]`` is a view of the layer W1, in the shape of this layer.

    Results of arithmetic have the layers of their arguments. Parts by index, and results of another
    shape, are plain arrays.

    Parameters
    ----------
    vector
        All entries, layer by layer, each in C order, shape (d,).
    shapes
        Name and shape of each layer.

    Raises
    ------
    InputError
        If the layers do not have d entries together.
    """

    shapes: LayerShapes

    def __new__(cls, vector: npt.ArrayLike, shapes: LayerShapes) -> Self:
        """Return the vector as a point whose layers have the given names and shapes."""
        flat = np.asarray(vector, dtype=np.float64)
        if flat.shape != (sum(math.prod(shape) for _, shape in shapes),):
            raise InputError(
                f"a vector of shape {flat.shape} cannot be split into layers {dict(shapes)}."
            )
        point = flat.view(cls)
        point.shapes = tuple((str(name), tuple(shape)) for name, shape in shapes)
        return point

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any] | Sequence[Any]) -> Self:
        """Return a point made of the given layers; a list of layers gets the names 0, 1, ...

        Raises
        ------
        InputError
            If there is no layer, or a layer is not a finite array of numbers.
        """
        named = arrays if isinstance(arrays, Mapping) else dict(enumerate(arrays))
        layers = {
            str(name): check_finite_array(f"the layer {name}", layer)
            for name, layer in named.items()
        }
        if not layers:
            raise InputError("a point needs at least one layer.")
        vector = np.concatenate([layer.ravel() for layer in layers.values()])
        return cls(vector, tuple((name, layer.shape) for name, layer in layers.items()))

    def __array_finalize__(self, other: Any) -> None:
        """Copy the names and shapes of the layers of `other`, from which this array is made."""
        self.shapes = getattr(other, "shapes", ())

    @property
    def vector(self) -> Floats:
        """All entries as a plain array of shape (d,), without a copy."""
        return self.view(np.ndarray)

    @property
    def layers(self) -> Mapping[str, Floats]:
        """Layers by name, as views in their shapes."""
        vector, layers, first = self.vector, {}, 0
        for name, shape in self.shapes:
            size = math.prod(shape)
            layers[name] = vector[first : first + size].reshape(shape)
            first += size
        return MappingProxyType(layers)

    def replace(self, arrays: Mapping[str, Any] | Sequence[Any]) -> Self:
        """Return a point with the same layers but new values, given by layer name or in order.

        Raises
        ------
        InputError
            If the arrays do not have the names and shapes of this point's layers.
        """
        names = [name for name, _ in self.shapes]
        if isinstance(arrays, Mapping) and arrays.keys() == set(names):
            arrays = {name: arrays[name] for name in names}
        elif not isinstance(arrays, Mapping) and len(arrays) == len(names):
            arrays = dict(zip(names, arrays, strict=True))
        point = type(self).from_arrays(arrays)
        if point.shapes != self.shapes:
            raise InputError(
                f"the layers must have shapes {dict(self.shapes)}, not {dict(point.shapes)}."
            )
        return point

    def spread(self, numbers: Mapping[str, float] | Sequence[float]) -> Floats:
        """Return a vector, shape (d,), in which each entry is the number given for its layer.

        The numbers are given by name or in the order of the layers.
        """
        names = [name for name, _ in self.shapes]
        if not isinstance(numbers, Mapping):
            numbers = dict(zip(names, numbers, strict=False)) if len(numbers) == len(names) else {}
        if not numbers.keys() >= set(names):
            raise InputError(f"give one number for each of the layers {', '.join(names)}.")
        return self.replace(
            {name: np.full(shape, numbers[name]) for name, shape in self.shapes}
        ).vector

    def __getitem__(self, key: Any) -> Any:
        """Return the layer named `key`; for any other key, part of the vector as a plain array."""
        return find_entry("layer", key, self.layers) if isinstance(key, str) else self.vector[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        """Write to the layer named `key`; for any other key, to a part of the vector."""
        if isinstance(key, str):
            self[key][...] = value
        else:
            self.vector[key] = value

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """Apply a ufunc to plain vectors; a result of the point's shape gets the point's layers."""
        inputs = tuple(item.vector if isinstance(item, Layers) else item for item in inputs)
        out = options.get("out", ())
        if out:
            options["out"] = tuple(
                item.vector if isinstance(item, Layers) else item for item in out
            )
        result = getattr(ufunc, method)(*inputs, **options)
        if len(out) == 1:
            return out[0]
        is_point = isinstance(result, np.ndarray) and result.dtype == np.float64
        return Layers(result, self.shapes) if is_point and result.shape == self.shape else result

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Floats, LayerShapes]]:
        """Return the vector and the layers, from which the point is unpickled."""
        return type(self), (self.vector, self.shapes)


def restore_layers(like: Any, x: Any) -> Any:
    """Return the vector x with the layers of the point `like`, or x itself if `like` has none."""
    return Layers(x, like.shapes) if isinstance(like, Layers) else x


def flatten_layers(like: Any, value: Any) -> Any:
    """Return a dict of layers as a vector in the layer order of `like`, other values unchanged."""
    named = isinstance(like, Layers) and isinstance(value, Mapping)
    return like.replace(value).vector if named else value
