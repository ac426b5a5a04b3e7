"""Saving a search to a file, so that an interrupted one can be resumed."""

import inspect
import json
import sys
from collections import Counter
from pathlib import Path
from time import monotonic
from typing import Any

from pfbench.base.errors import StorageError
from pfbench.base.files import atomic_write
from pfbench.problems.base import content_digest
from pfbench.verification.claim import Claim
from pfbench.verification.falsify.evaluation import Ratio
from pfbench.verification.falsify.reports import VIOLATED, Counterexample, SearchReport
from pfbench.verification.falsify.search import Entry, Search
from pfbench.verification.falsify.sources import claim_module

_PLAIN = ("work", "evaluations", "unconfirmed", "tests", "reason", "complete", "largest")
"""Attributes of a search that JSON reads back as they were written."""

_INTERVAL = 2.0
"""Seconds from one save to the next."""


class SavedSearch:
    """The reports on the finished statements of a claim, and the state of the next one's search.

    The name of the file has a digest of the claim's source and of `options`. Nothing is saved if
    there is no folder.
    """

    def __init__(
        self, claim: Claim, options: Any, folder: Path | None = None, is_resumed: bool = False
    ) -> None:
        self.path: Path | None = None
        self.state: dict[str, Any] | None = None
        self.reports, self.time = list[SearchReport](), monotonic()
        if folder is None:
            return
        version = sys.modules[__name__.partition(".")[0]].__version__
        source = inspect.getsource(claim_module(claim))
        digest = content_digest((version, claim.name, options, source))
        self.path = folder / f"{claim.name}-{digest[:16]}.json"
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
        """Add and save the report on a statement."""
        self.reports.append(report)
        self._write(None)

    def save(self, search: Search, elapsed: float) -> None:
        """Save the state of a search, unless the last save is too recent."""
        if self.path is None or monotonic() < self.time + _INTERVAL:
            return
        names = (*_PLAIN, "skipped", "pools", "dropped")
        state = {name: getattr(search, name) for name in names}
        self._write(state | {"elapsed": elapsed, "rng": search.rng.bit_generator.state})

    def restore(self, search: Search) -> float:
        """Restore the saved state of a search, if any; return the seconds that it had taken."""
        if self.state is None:
            return 0.0
        state, self.state = self.state, None
        vars(search).update({name: state[name] for name in _PLAIN})
        search.rng.bit_generator.state = state["rng"]
        search.skipped = Counter(state["skipped"])
        search.pools = {int(T): [*map(_make_entry, pool)] for T, pool in state["pools"].items()}
        search.dropped = state["dropped"] and _make_entry(state["dropped"])
        return float(state["elapsed"])

    def _write(self, state: dict[str, Any] | None) -> None:
        self.time = monotonic()
        if self.path is not None:
            saved = {"reports": self.reports, "state": state}
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_write(self.path) as file:
                file.write(json.dumps(saved, default=_encode).encode())


def _encode(value: Any) -> Any:
    return vars(value) if isinstance(value, Entry | Ratio | SearchReport) else float(value)


def _make_entry(record: dict[str, Any]) -> Entry:
    return Entry(**record | {"result": Ratio(**record["result"])})
