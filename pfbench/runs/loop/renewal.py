"""Taking the checkpoints of a run while it goes on, and going on from one."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np

from pfbench.base.counts import Counts
from pfbench.base.errors import InputError, StalePoint
from pfbench.base.protocols import Algorithm, Backend, Problem, Remembering, Renewing
from pfbench.base.state import Point
from pfbench.measures import BRACKETS
from pfbench.points.saving import Held, hold, restored
from pfbench.runs.loop.checkpoint import MOST_BYTES, PARTS, Arrays, Checkpoint


class Stands(NamedTuple):
    """Where a run stands that has just completed an iteration, as far as numbers say it.

    Attributes
    ----------
    arrival
        Its iterations, counts and seconds.
    oracle_seconds, rows, certificates, total_weight, from_output
        As of a `Checkpoint`.
    """

    arrival: tuple[Any, ...]
    oracle_seconds: float
    rows: int
    certificates: int
    total_weight: float
    from_output: bool


class Keeper:
    """Notes where a run stands whenever it renews, so that a checkpoint is there when it ends.

    Where the next iteration renews again, nothing is copied: the newest point can still be read
    when the run ends. A run whose points take more than `MOST_BYTES` has none.

    Parameters
    ----------
    algorithm, backend, streams
        Those of the run; streams by purpose.

    Attributes
    ----------
    renews
        As the algorithm has it.
    begun
        The checkpoint that the run itself goes on from; None for one made from its start.
    """

    def __init__(
        self, algorithm: Renewing, backend: Backend, streams: Mapping[str, np.random.Generator]
    ) -> None:
        self.begun: Checkpoint | None = None
        self.renews = algorithm.renews
        self._memory = backend.memory if isinstance(backend, Remembering) else dict
        self._streams = streams
        self._noted: tuple[Stands, dict[str, Held], dict[str, Any], Arrays] | None = None

    def note(self, stands: Stands, x: Point, output: Point) -> None:
        """Note a run that renews after the iteration it has just completed.

        Parameters
        ----------
        stands
            Where it stands.
        x, output
            Its newest point, and its output so far (None if that is the last x).
        """
        self._noted = None
        moves = not self.renews(stands.arrival[0] + 1)
        points = {"x": x} if output is None else {"x": x, "output": output}
        if sum(getattr(point, "nbytes", 0) for point in points.values()) > MOST_BYTES:
            return
        try:
            held = {part: hold(point, moves=moves) for part, point in points.items()}
        except (InputError, StalePoint):
            return
        streams = {name: rng.bit_generator.state for name, rng in self._streams.items()}
        self._noted = stands, held, streams, self._memory()

    def checkpoint(
        self,
        every: int,
        columns: Sequence[str],
        rows: Sequence[Mapping[str, Any]],
        certificates: int,
        seconds: float,
    ) -> Checkpoint | None:
        """Return the checkpoint of a run that has ended, None if there is none.

        Parameters
        ----------
        every, columns, rows, certificates, seconds
            Recording frequency, trace, certified intervals and time of the run at its end.
        """
        if self._noted is None:
            at = self.begun
            return at and replace(at, certificates_at_end=certificates, seconds_at_end=seconds)
        stands, held, streams, memory = self._noted
        try:
            parts = {part: point.arrays() for part, point in held.items()} | {"memory": memory}
        except StalePoint:
            return None
        arrays = {f"{part}.{name}": a for part, own in parts.items() for name, a in own.items()}
        iterations, *counts, arrived = stands.arrival
        recorded = {name for row in rows[: stands.rows] for name in row}
        recorded |= {f"{name}_lower" for name in BRACKETS}
        return Checkpoint(
            iterations,
            Counts(*counts),
            arrived,
            every=every,
            columns=tuple(name for name in columns if name in recorded),
            certificates_at_end=certificates,
            seconds_at_end=seconds,
            streams=streams,
            arrays=arrays,
            **{name: getattr(stands, name) for name in Stands._fields[1:]},
        )


def keeper(
    problem: Problem,
    algorithm: Algorithm,
    backend: Backend,
    streams: Mapping[str, np.random.Generator],
) -> Keeper | None:
    """Return what notes a run's checkpoints, None where a run can not be extended.

    It can if the method renews, and the backend either is the problem itself, which has no memory,
    or can say what it remembers.
    """
    if not hasattr(algorithm, "run_from") or not hasattr(algorithm, "renews"):
        return None
    stateless = cast("object", backend) is problem
    if not stateless and not isinstance(backend, Remembering):
        return None
    return Keeper(cast("Renewing", algorithm), backend, streams)


def resumed(
    at: Checkpoint,
    problem: Problem,
    backend: Backend,
    streams: Mapping[str, np.random.Generator],
) -> tuple[Point, Point]:
    """Give the streams and the backend what they had at a checkpoint; return x and the output.

    Raises
    ------
    InputError
        If the checkpoint is not one of this problem.
    """
    start = problem.start()
    x, output = (restored(at.part(part), start) if at.part(part) else None for part in PARTS[:2])
    if isinstance(backend, Remembering):
        backend.recall(at.part("memory"))
    for purpose, rng in streams.items():
        rng.bit_generator.state = at.streams[purpose]
    return x, output
