"""A search in a file, so that one that was stopped goes on where it stopped."""

import inspect
import json
import sys
from collections import Counter
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from time import monotonic
from typing import Any

from pfbench.base.errors import StorageError
from pfbench.base.files import atomic_write
from pfbench.verification.claim import Claim
from pfbench.verification.falsify.evaluation import Ratio
from pfbench.verification.falsify.reports import VIOLATED, Counterexample, SearchReport
from pfbench.verification.falsify.search import Entry, Search
from pfbench.verification.falsify.sources import claim_module

_NUMBERS = ("work", "evaluations", "unconfirmed", "tests", "reason", "complete")
_INTERVAL = 2.0


class SavedSearch:
    """The reports on finished statements of a claim, and the state of the search of the next.

    The file is named after the claim, its source, and `options`; without a folder there is none.
    """

    def __init__(
        self, claim: Claim, options: Any, folder: Path | None = None, is_resumed: bool = False
    ) -> None:
        self.path: Path | None = None
        self.state: dict[str, Any] | None = None
        self.reports, self.time = list[SearchReport](), monotonic()
        source = inspect.getsourcefile(claim_module(claim)) if folder else None
        if folder is None or source is None:
            return
        version = sys.modules[__name__.partition(".")[0]].__version__
        content = repr((version, claim.name, options)).encode() + Path(source).read_bytes()
        self.path = folder / f"{claim.name}-{sha256(content).hexdigest()[:16]}.json"
        if is_resumed and self.path.exists():
            try:
                saved = json.loads(self.path.read_text(encoding="utf-8"))
                self.state = saved["state"]
                for record in saved["reports"]:
                    kind = Counterexample if record["verdict"] == VIOLATED else SearchReport
                    self.reports.append(kind(**record | {"lint": tuple(record["lint"])}))
            except (ValueError, TypeError, KeyError) as error:
                raise StorageError(
                    f"{self.path} is damaged: delete it, or omit --resume."
                ) from error

    def finish(self, report: SearchReport) -> None:
        """Add the report on a statement."""
        self.reports.append(report)
        self._write(None)

    def save(self, search: Search, elapsed: float) -> None:
        """Save the state of a search, unless it was saved just now."""
        if self.path is None or monotonic() < self.time + _INTERVAL:
            return
        state = {name: getattr(search, name) for name in _NUMBERS}
        state |= {"elapsed": elapsed, "rng": search.rng.bit_generator.state}
        state |= {"skipped": search.skipped, "largest": [*search.largest.items()]}
        state["pools"] = [[k, [*map(asdict, pool)]] for k, pool in search.pools.items()]
        self._write(state | {"dropped": search.dropped and asdict(search.dropped)})

    def restore(self, search: Search) -> float:
        """Restore a search, where one was saved; return the seconds that it has taken."""
        if self.state is None:
            return 0.0
        state, self.state = self.state, None
        for name in _NUMBERS:
            setattr(search, name, state[name])
        search.rng.bit_generator.state = state["rng"]
        search.skipped, search.largest = Counter(state["skipped"]), dict(state["largest"])
        search.pools = {k: [*map(_make_entry, pool)] for k, pool in state["pools"]}
        search.dropped = state["dropped"] and _make_entry(state["dropped"])
        return float(state["elapsed"])

    def _write(self, state: dict[str, Any] | None) -> None:
        self.time = monotonic()
        if self.path is not None:
            saved = {"reports": [report.as_json() for report in self.reports], "state": state}
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_write(self.path) as file:
                file.write(json.dumps(saved, default=float).encode())


def _make_entry(record: dict[str, Any]) -> Entry:
    return Entry(**record | {"result": Ratio(**record["result"])})
