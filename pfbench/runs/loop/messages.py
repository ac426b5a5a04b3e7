"""Messages between a problem and a confined method: numbers, text, arrays, and points.

Both processes send plain data: JSON, followed by the bytes of its arrays. Decoding creates only
objects of a few classes of pfbench, and checks their shapes, so that no compiled loop reads beyond
an array. Each message carries the number of the last message from the problem's process.

Objects that both processes hold are named by numbers. These are the storage that the points of a
sequence share, which both processes change, and the pattern of observed entries. Numbers also name
the marks by which a point knows whether it is the newest. Each message updates the storage before
its content is read. Patterns come only from the problem's process, since nothing checks them.
"""

import io
import json
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from typing import Any, Literal

import numpy as np

from pfbench.base.errors import InputError
from pfbench.base.sample import Sample
from pfbench.base.state import State
from pfbench.kernels.observed_entries import ObservedRows
from pfbench.points.atoms import Atoms, Factors, RankOne
from pfbench.points.factored import FactoredMatrix, SharedIterateStorage
from pfbench.points.layers import Layers
from pfbench.points.operators import DenseOperator, SparseOperator, TiltedOperator
from pfbench.points.pattern import Pattern

SHARED = {kind.__name__: kind for kind in (SharedIterateStorage, Pattern, object)}
"""Classes, by name, of the objects that both processes hold, and name by a number."""

_FIELDS: Mapping[type, tuple[str, ...]] = {
    State: State._fields,
    Sample: ("indices", "counts"),
    Factors: Factors._fields,
    Layers: ("vector", "shapes"),
    RankOne: ("u", "v", "scale", "pattern"),
    Atoms: ("left", "right", "atom_count", "newest"),
    FactoredMatrix: ("_trail", "_token", "_base", "_vertex", "_weight", "_slot", "is_borrowed"),
    DenseOperator: ("array", "shape"),
    SparseOperator: ("pattern", "g", "shape"),
    TiltedOperator: ("sparse", "pattern", "factors", "shape"),
}
STORAGE = (
    *("pattern", "values", "atoms", "weights", "current", "previous", "step", "previous_state"),
    *("no_left", "no_right", "limit"),
)
"""Attributes of the storage that the points of a sequence share."""

_CLASSES = {kind.__name__: kind for kind in _FIELDS}
_KINDS = "biuf"
_MOST_BYTES = 2**31  # of a message to the problem's process


def encode(value: Any, number: Callable[[Any], int], arrays: bytearray) -> Any:
    """Return a value as JSON data; the bytes of its arrays are appended to `arrays`.

    Parameters
    ----------
    number
        Function from a shared object to its number.

    Raises
    ------
    TypeError
        If the value contains something that is not plain data.
    """
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if isinstance(value, np.generic) and value.dtype.kind in _KINDS:
        return value.item()
    if isinstance(value, np.ndarray) and kind is not Layers and value.dtype.kind in _KINDS:
        is_fortran = value.flags.f_contiguous and not value.flags.c_contiguous
        order: Literal["F", "C"] = "F" if is_fortran else "C"
        arrays += value.tobytes(order)
        return {"array": [value.dtype.str, value.shape, order]}
    if kind in (tuple, list):
        return {kind.__name__: [encode(item, number, arrays) for item in value]}
    if kind is dict:
        flat = [item for pair in value.items() for item in pair]
        return {"dict": [encode(item, number, arrays) for item in flat]}
    if kind in SHARED.values():
        return {"shared": [kind.__name__, number(value)]}
    if kind in _FIELDS:
        names = (name for name in _FIELDS[kind] if hasattr(value, name))
        fields = {name: encode(getattr(value, name), number, arrays) for name in names}
        return {"object": [kind.__name__, fields]}
    raise TypeError(f"an object of type {kind.__name__} cannot be sent to the other process")


def decode(value: Any, shared: Callable[[str, int], Any], arrays: io.BytesIO) -> Any:
    """Return the value that `encode` encoded.

    Parameters
    ----------
    shared
        Function from the kind and the number of a shared object to the object.
    arrays
        The bytes of the arrays, in their order; each array is read once.

    Raises
    ------
    ValueError, TypeError, LookupError
        If the data are not those of a value, or an object has an invalid shape.
    """
    if not isinstance(value, dict):
        if isinstance(value, list):
            raise ValueError("the received data have a list without a type")
        return value
    ((kind, content),) = value.items()
    if kind == "array":
        return _decode_array(arrays, *content)
    if kind in ("tuple", "list", "dict"):
        items = [decode(item, shared, arrays) for item in content]
        pairs = zip(items[::2], items[1::2], strict=True)
        return tuple(items) if kind == "tuple" else items if kind == "list" else dict(pairs)
    if kind == "shared":
        return shared(*content)
    if kind != "object":
        raise ValueError(f"the received data have an object of unknown kind {kind!r}")
    name, fields = content
    restored = {field: decode(item, shared, arrays) for field, item in fields.items()}
    return _make(_CLASSES[name], restored)


def _decode_array(
    arrays: io.BytesIO, text: str, shape: list[int], order: Any
) -> np.ndarray[Any, Any]:
    dtype = np.dtype(text)
    if dtype.kind not in _KINDS or order not in ("C", "F"):
        raise ValueError(
            f"the received data have an array of invalid type {text!r} or order {order!r}"
        )
    if not all(type(size) is int and 0 <= size < 2**40 for size in shape):
        raise ValueError(f"the received data have an array of invalid shape {shape}")
    size = dtype.itemsize * int(np.prod(shape, dtype=object))
    part = np.frombuffer(arrays.read(size), dtype)
    return part.reshape(shape, order=order).copy(order)


def _make(kind: Any, fields: dict[str, Any]) -> Any:
    if not set(fields) <= set(_FIELDS[kind]):
        raise ValueError(f"a {kind.__name__} in the received data has unknown fields")
    if kind in (State, Factors, Sample, Layers):
        instance = kind(**fields)
    else:
        instance = object.__new__(kind)
        if kind is Atoms:
            Atoms.__init__(instance, (1, 1), 0)
        for name, value in fields.items():
            object.__setattr__(instance, name, tuple(value) if name == "shape" else value)
    _check_attributes_consistent(instance)
    return instance


def _check_attributes_consistent(instance: Any) -> None:
    """Raise if the attributes of a decoded object do not fit together in type or shape."""
    if isinstance(instance, RankOne):
        _expect(_is_vector(instance.u), _is_vector(instance.v), type(instance.scale) is float)
        _expect(instance.pattern is None or isinstance(instance.pattern, Pattern))
    elif isinstance(instance, Factors):
        count = len(instance.weights)
        _expect(_is_vector(instance.weights), *(_is_matrix(part) for part in instance[1:]))
        _expect(len(instance.left) == len(instance.right) == count)
    elif isinstance(instance, Atoms):
        _expect(
            _is_matrix(instance.left), _is_matrix(instance.right), type(instance.atom_count) is int
        )
        _expect(0 <= instance.atom_count <= len(instance.left) == len(instance.right))
        _expect(instance.newest is None or isinstance(instance.newest, RankOne))
    elif isinstance(instance, FactoredMatrix):
        storage, vertex = instance._trail, instance._vertex
        _expect(isinstance(storage, SharedIterateStorage), type(instance._weight) is float)
        # A point whose step was applied names its atom in the list before a compression.
        lists = [storage.atoms, *(storage.previous_state or ())[:1]]
        _expect(type(instance._slot) is int)
        _expect(-1 <= instance._slot < max(atoms.atom_count for atoms in lists))
        _expect(vertex is None or _fits(vertex, storage.pattern))
    elif isinstance(instance, DenseOperator):
        _expect(_is_matrix(instance.array), instance.shape == instance.array.shape)
    elif isinstance(instance, SparseOperator):
        _expect(isinstance(instance.pattern, Pattern), _is_vector(instance.g))
        _expect(len(instance.g) == instance.pattern.n, instance.shape == instance.pattern.shape)
    elif isinstance(instance, TiltedOperator):
        left, right = instance.factors[1:]
        _expect(
            isinstance(instance.sparse, SparseOperator), instance.pattern is instance.sparse.pattern
        )
        _expect((left.shape[1], right.shape[1]) == instance.pattern.shape == instance.shape)


def check_iterate_storage(parts: Mapping[str, Any]) -> None:
    """Raise if the parts of an `SharedIterateStorage` do not fit together in type or shape.

    Raises
    ------
    ValueError
        If the types or shapes of the parts are inconsistent.
    """
    pattern = parts["pattern"]
    _expect(tuple(parts) == STORAGE, isinstance(pattern, Pattern), type(parts["limit"]) is int)
    _expect(_is_vector(parts["values"]) and len(parts["values"]) == pattern.n)
    pairs = [(parts["atoms"], parts["weights"]), parts["previous_state"]]
    for atoms, weights in filter(None, pairs):
        _expect(isinstance(atoms, Atoms), _is_vector(weights))
        _expect((atoms.left.shape[1], atoms.right.shape[1]) == pattern.shape)
        _expect(len(weights) <= atoms.atom_count)
    if parts["step"] is not None:
        vertex, weight = parts["step"]
        _expect(_fits(vertex, pattern), type(weight) is float)
    for name, size in zip(("no_left", "no_right"), pattern.shape, strict=True):
        _expect(_is_vector(parts[name]) and len(parts[name]) == size and not parts[name].any())


def _fits(vertex: Any, pattern: Pattern) -> bool:
    return isinstance(vertex, RankOne) and (vertex.u.size, vertex.v.size) == pattern.shape


def _is_vector(part: Any) -> bool:
    return isinstance(part, np.ndarray) and part.ndim == 1 and part.dtype == np.float64


def _is_matrix(part: Any) -> bool:
    return isinstance(part, np.ndarray) and part.ndim == 2 and part.dtype == np.float64


def _expect(*conditions: bool) -> None:
    if not all(conditions):
        raise ValueError("the arrays of a point have types or shapes that do not fit together")


class PipeEnd:
    """End of a pipe between two processes, which refer to shared objects by numbers.

    The end in the problem's process trusts nothing that it receives. It numbers the objects that it
    shares first by 0, 2, 4, ..., the end in the method's process by 1, 3, 5, ...

    Attributes
    ----------
    owes_answer
        Whether the other end waits for a message.
    """

    def __init__(self, pipe: Connection, *, is_problem: bool) -> None:
        self.pipe, self._is_problem = pipe, is_problem
        self._next_number = 0 if is_problem else 1
        self._turn = 0
        self.owes_answer = False
        self.reset()

    def reset(self) -> None:
        """Forget all numbered objects, before another run starts."""
        self._things: dict[int, Any] = {}
        self._numbers: dict[int, int] = {}
        self._modified: dict[int, SharedIterateStorage] = {}
        self._new_patterns: dict[int, Pattern] = {}

    def send(self, *message: Any) -> None:
        """Send a message with the iterate storages that this and the preceding message use."""
        self._turn += self._is_problem
        self.owes_answer = False
        of_content, of_storages, of_patterns = bytearray(), bytearray(), bytearray()
        content = encode(message, self._number, of_content)
        storages: dict[int, Any] = {}
        while missing := self._modified.keys() - storages.keys():
            for number in missing:
                values = tuple(vars(self._things[number])[name] for name in STORAGE)
                storages[number] = encode(values, self._number, of_storages)
        patterns = [
            (number, encode((p.shape, tuple(p.rows), p.bounds), self._number, of_patterns))
            for number, p in self._new_patterns.items()
        ]
        self._modified, self._new_patterns = {}, {}
        head = json.dumps([self._turn, patterns, list(storages.items()), content]).encode()
        length = len(head).to_bytes(8, "little")
        # In the order in which they are decoded.
        self.pipe.send_bytes(b"".join([length, head, of_patterns, of_storages, of_content]))

    def receive(self) -> Any:
        """Return the next message from the other process.

        Raises
        ------
        EOFError
            If the other end is closed.
        InputError
            If the other end sends invalid data, or a message of another turn.
        """
        data = io.BytesIO(self.pipe.recv_bytes(_MOST_BYTES if self._is_problem else None))
        try:
            message = self._decode_message(data)
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            raise InputError(f"the process of the method sends invalid data ({error}).") from error
        self.owes_answer = True
        return message

    def _decode_message(self, data: io.BytesIO) -> Any:
        head = data.read(int.from_bytes(data.read(8), "little"))
        turn, patterns, storages, content = json.loads(head)
        # Nothing checks patterns, which compiled loops read.
        if self._is_problem and (turn != self._turn or patterns):
            raise ValueError("an answer out of turn, or a pattern that is not the problem's")
        self._turn = turn
        for number, encoded in patterns:
            shape, rows, bounds = decode(encoded, self._get_or_create_shared_object, data)
            self._register(number, Pattern(shape, ObservedRows(*rows), bounds))
        for number, encoded in storages:
            values = decode(encoded, self._get_or_create_shared_object, data)
            parts = dict(zip(STORAGE, values, strict=True))
            check_iterate_storage(parts)
            vars(self._get_or_create_shared_object("SharedIterateStorage", number)).update(parts)
        self._modified = {}
        return decode(content, self._get_or_create_shared_object, data)

    def _number(self, obj: Any) -> int:
        if id(obj) not in self._numbers:
            if isinstance(obj, Pattern):
                self._new_patterns[self._next_number] = obj
            self._register(self._next_number, obj)
            self._next_number += 2
        number = self._numbers[id(obj)]
        if isinstance(obj, SharedIterateStorage):
            self._modified[number] = obj
        return number

    def _register(self, number: int, obj: Any) -> None:
        self._things[number] = obj  # kept, so that no other thing gets its id
        self._numbers[id(obj)] = number

    def _get_or_create_shared_object(self, name: str, number: int) -> Any:
        """Return the shared object with a number; a new one, unless it is a pattern."""
        kind = SHARED[name]
        if number not in self._things and kind is not Pattern:
            self._register(number, object.__new__(kind))
        obj = self._things[number]
        if type(obj) is not kind:
            raise ValueError(f"object {number} of the received data is not a {name}")
        if isinstance(obj, SharedIterateStorage):
            self._modified[number] = obj
        return obj
