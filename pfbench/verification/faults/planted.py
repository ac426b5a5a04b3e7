"""Functions that the changed source of a generated fault calls as `planted.NAME`."""

import math
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from statistics import median
from typing import Any

import numpy as np

from pfbench.base.sample import Sample


def bypass_ledger(oracles: Any) -> Any:
    """Return the backend inside an object of counting oracles; calls of the backend do not count.

    Another object is returned unchanged.
    """
    for name in ("_backend", "_hessian", "_table"):
        if hasattr(type(oracles), name):
            return getattr(oracles, name)
    return oracles


def repeat_first_index(sample: Any) -> Any:
    """Return a sample of the same size in which every index is the first index."""
    if isinstance(sample, Sample):
        return Sample(sample.indices[:1], np.array([len(sample)]))
    indices = np.asarray(sample)
    return np.full_like(indices, indices.flat[0]) if indices.size else indices


def draw_distinct(rng: Any, n: Any, size: Any = None, **overrides: Any) -> Any:
    """Return distinct random indices below n; with replacement if `size` exceeds n."""
    if size is None or np.ndim(n) or overrides or int(np.prod(size)) > n:
        return rng.integers(n, size=size, **overrides)
    return rng.choice(n, size=size, replace=False)


def reuse_first_draw(memory: dict[str, Any], draw: Callable[[], Any]) -> Any:
    """Return the first draw of a run at every call; later draws are made, but ignored."""
    return memory.setdefault("drawn", draw())


def repeat_draws(memory: dict[str, Any], draw: Callable[[], Any]) -> Any:
    """Repeat at every even call the draw of the call before, which is a new one."""
    if "drawn" in memory:
        return memory.pop("drawn")
    memory["drawn"] = draw()
    return memory["drawn"]


def scale_number(number: Any, factor: float) -> Any:
    """Return a number times a factor; an integer is rounded to an integer of at least 1."""
    if number is None or isinstance(number, bool | str):
        return number
    return max(1, round(number * factor)) if isinstance(number, int) else number * factor


def sqrt_keeping_integers(number: Any) -> Any:
    """Return the square root of a number; for an integer, rounded to an integer of at least 1."""
    if number is None or isinstance(number, bool | str):
        return number
    return max(1, round(math.sqrt(number))) if isinstance(number, int) else math.sqrt(number)


def fault_storage_of_run(method: Any, oracles: Any) -> dict[str, Any]:
    """Return the dictionary in which a fault stores data during a run.

    The dictionary is empty at the start of a run.
    """
    last_run = vars(method).setdefault("_planted_memory", [None, {}])
    if last_run[0] is not oracles:
        last_run[:] = oracles, {}
    memory: dict[str, Any] = last_run[1]
    return memory


def has_passed_call_count(memory: dict[str, Any], times: int) -> bool:
    """Count a call in `memory`, and return whether more than `times` calls were counted."""
    memory["times"] = memory.get("times", 0) + 1
    return bool(memory["times"] > times)


def truncate_to_bits(sample: Any, bits: int) -> Any:
    """Return a sample in which only the lowest `bits` bits of each index are kept."""
    if isinstance(sample, Sample):
        return Sample(sample.indices % 2**bits, sample.counts)
    return np.asarray(sample) % 2**bits


def clip_norm(memory: dict[str, Any], g: Any, median_multiple: float) -> Any:
    """Return g, scaled down if its norm exceeds a multiple of the median norm of earlier vectors.

    The first 12 vectors are returned unchanged.
    """
    if not isinstance(g, np.ndarray):
        return g
    norms = memory.setdefault("norms", [])
    norms.append(float(np.linalg.norm(g)))
    upper = median_multiple * median(norms) if len(norms) > 12 else math.inf
    return g if norms[-1] <= upper else g * (upper / norms[-1])


def limit_rounds(rounds: Iterable[Any], limit: int) -> Iterator[Any]:
    """Return an iterator over the first `limit` items of an iterable."""
    return islice(iter(rounds), limit)


def make_unseeded_stream() -> np.random.Generator:
    """Return a random stream that does not depend on the run's seed."""
    return np.random.default_rng(0)
