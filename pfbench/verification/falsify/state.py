"""The state of a search on disk, so that the same command goes on after an interruption."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

from pfbench.verification.falsify.genomes import as_text, from_text
from pfbench.verification.falsify.search import Entry, Search

_COUNTERS = ("work", "evaluations", "unconfirmed", "errors")


def save(search: Search, path: Path, **more: Any) -> None:
    """Write the pools, the counters and the position of the random stream."""
    pools = {
        str(rung): [{"genome": as_text(e.genome), "T": e.T, "seed": e.seed} for e in pool]
        for rung, pool in search.pools.items()
    }
    content = {
        **more,
        "pools": pools,
        "rng": search.rng.bit_generator.state,
        "skipped": dict(search.skipped),
        "largest": {str(k): v for k, v in search.largest.items()},
        "by_family": search.by_family,
        "counters": {name: getattr(search, name) for name in _COUNTERS},
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(content), encoding="utf-8")
    partial.replace(path)


def restore(search: Search, path: Path) -> dict[str, Any] | None:
    """Read a state into a search; None if there is none, or it is damaged."""
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        pools = {
            int(rung): [(from_text(one["genome"]), int(one["T"]), int(one["seed"])) for one in pool]
            for rung, pool in content["pools"].items()
        }
        search.rng.bit_generator.state = content["rng"]
        counters = {name: int(content["counters"][name]) for name in _COUNTERS}
        largest = {int(k): float(v) for k, v in content["largest"].items()}
        by_family, skipped = dict(content["by_family"]), Counter(content["skipped"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    for rung, entries in pools.items():
        measured = [(g, T, seed, search.measure(g, T, seed)) for g, T, seed in entries]
        search.pools[rung] = [Entry(g, T, s, found) for g, T, s, found in measured if found]
    for name, value in counters.items():
        setattr(search, name, value)
    search.largest, search.by_family, search.skipped = largest, by_family, skipped
    return content
