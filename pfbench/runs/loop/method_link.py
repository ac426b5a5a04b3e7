"""Pipe between a problem and a method in a process of its own.

Objects that both processes hold are named by numbers: the storage that the points of a sequence
share, which both processes change; the pattern of observed entries; and the marks by which a point
knows whether it is the newest. Each message updates the storage before its content is read. The end
of the method sends plain data, and each message with the number of the turn.
"""

import io
import pickle
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from pfbench.base.errors import InputError
from pfbench.points.factored import IterateStorage
from pfbench.points.pattern import Pattern
from pfbench.runs.loop.plain_data import SHARED, STORAGE, check_iterate_storage, decode, encode

_MOST_BYTES = 2**31
"""Maximum number of bytes of a message."""


class _End:
    """One end of a pipe; it numbers objects by twos from `first`, which is 0 or 1."""

    def __init__(self, pipe: Connection, first: int) -> None:
        self.pipe = pipe
        self._next_number = first
        self._things: dict[int, Any] = {}
        self._numbers: dict[int, int] = {}
        self._modified: dict[int, IterateStorage] = {}
        self._turn = 0

    def reset(self) -> None:
        """Forget all numbered objects before another run."""
        self._things, self._numbers, self._modified = {}, {}, {}

    def _number(self, obj: Any) -> int:
        if id(obj) not in self._numbers:
            self._register(self._next_number, obj)
            self._next_number += 2
        number = self._numbers[id(obj)]
        if isinstance(obj, IterateStorage):
            self._modified[number] = obj
        return number

    def _register(self, number: int, obj: Any) -> None:
        self._things[number] = obj  # kept, so that no other thing gets its id
        self._numbers[id(obj)] = number

    def _remote(self, kind: type, number: int) -> Any:
        if number not in self._things:
            self._register(number, object.__new__(kind))
        obj = self._things[number]
        if type(obj) is not kind:
            raise ValueError("a number of another object")
        if isinstance(obj, IterateStorage):
            self._modified[number] = obj
        return obj

    def _pack_changed_storages(self, pack: Callable[[Any], bytes]) -> list[tuple[int, bytes]]:
        """Return the number and the packed parts of each storage that was changed or named."""
        packed: dict[int, bytes] = {}
        while missing := self._modified.keys() - packed.keys():
            for number in missing:
                parts = vars(self._things[number])
                packed[number] = pack(tuple(parts[name] for name in STORAGE))
        self._modified = {}
        return list(packed.items())


class ProblemEnd(_End):
    """End in the process of the problem: it sends pickles, and reads plain data."""

    owes_answer = False
    """Whether the other end waits for a message."""

    def send(self, *message: Any) -> None:
        """Send a message, with the storages that it or the last received message uses."""
        patterns: dict[int, Pattern] = {}

        def pack(value: Any) -> bytes:
            def name(obj: Any) -> tuple[str, Any] | None:
                if isinstance(obj, np.dtype) and obj.isbuiltin:
                    return "dtype", obj.str
                if type(obj) not in SHARED:
                    return None
                if isinstance(obj, Pattern) and id(obj) not in self._numbers:
                    patterns[self._number(obj)] = obj
                return type(obj).__name__, self._number(obj)

            buffer = io.BytesIO()
            pickler = pickle.Pickler(buffer, pickle.HIGHEST_PROTOCOL)
            pickler.persistent_id = name  # type: ignore[method-assign]
            pickler.dump(value)
            return buffer.getvalue()

        packed = pack(message)
        storages = self._pack_changed_storages(pack)
        self._turn += 1
        self.owes_answer = False
        parts = (self._turn, pickle.dumps(patterns), storages, packed)
        self.pipe.send_bytes(pickle.dumps(parts))

    def receive(self) -> Any:
        """Return the next message.

        Raises
        ------
        EOFError
            If the other end is closed.
        InputError
            If the other end sends invalid data, or a message of another turn.
        """
        data = self.pipe.recv_bytes(_MOST_BYTES)
        try:
            turn, count = (int.from_bytes(data[k : k + 8], "little") for k in (0, 8))
            if turn != self._turn:
                raise ValueError("an answer out of turn")
            rest = data[16:]
            for _ in range(count):
                number, size = (int.from_bytes(rest[k : k + 8], "little") for k in (0, 8))
                self._update(number, decode(rest[16 : 16 + size], self._find_shared))
                rest = rest[16 + size :]
            self._modified = {}
            message = decode(rest, self._find_shared)
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            raise InputError(f"the process of the method sends invalid data ({error}).") from error
        self.owes_answer = True
        return message

    def _find_shared(self, kind: str, number: int) -> Any:
        if kind == "Pattern":
            pattern = self._things[number]
            if not isinstance(pattern, Pattern):
                raise ValueError("a number does not name a Pattern")
            return pattern
        return self._remote(IterateStorage if kind == "IterateStorage" else object, number)

    def _update(self, number: int, values: tuple[Any, ...]) -> None:
        parts = dict(zip(STORAGE, values, strict=True))
        check_iterate_storage(parts)
        vars(self._remote(IterateStorage, number)).update(parts)


class MethodEnd(_End):
    """End in the process of the method: it sends plain data, and reads pickles."""

    def send(self, *message: Any) -> None:
        """Send a message, with the storages that it or the last received message uses."""
        packed = encode(message, self._number)
        storages = self._pack_changed_storages(lambda value: encode(value, self._number))
        parts = [word.to_bytes(8, "little") for word in (self._turn, len(storages))]
        for number, data in storages:
            parts += [number.to_bytes(8, "little"), len(data).to_bytes(8, "little"), data]
        self.pipe.send_bytes(b"".join([*parts, packed]))

    def receive(self) -> Any:
        """Return the next message; see `ProblemEnd.receive`."""
        self._turn, patterns, storages, packed = pickle.loads(self.pipe.recv_bytes())
        for number, pattern in pickle.loads(patterns).items():
            self._register(number, pattern)
        for number, data in storages:
            parts = dict(zip(STORAGE, self._unpickle(data), strict=True))
            vars(self._remote(IterateStorage, number)).update(parts)
        self._modified = {}
        return self._unpickle(packed)

    def _unpickle(self, data: bytes) -> Any:
        def load(reference: tuple[str, Any]) -> Any:
            kind, number = reference
            if kind == "dtype":
                return np.dtype(number)
            if kind == "Pattern":
                return self._things[number]
            return self._remote(IterateStorage if kind == "IterateStorage" else object, number)

        unpickler = pickle.Unpickler(io.BytesIO(data))
        unpickler.persistent_load = load  # type: ignore[method-assign]
        return unpickler.load()
