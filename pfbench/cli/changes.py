"""``pfbench report --compare``: what changed between two stores."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pfbench.base.errors import InputError
from pfbench.cli.printing import complain, fields_of
from pfbench.cli.tables import Fact, columns, show_facts
from pfbench.cli.words import plural, whole

if TYPE_CHECKING:
    from pfbench.reporting.changes import Change

_SHOWN = 200
"""So many differences are printed; --json has them all."""


def show_changes(before: Path, after: Path, *, as_json: bool) -> None:
    """Print what changed from one store to another."""
    from pfbench.reporting.changes import compare
    from pfbench.runs.storage.store import Store

    if before.resolve() == after.resolve():
        raise InputError(f"--compare {before} {after} is one store: name two.")
    found = compare(*(Store(folder, make=False) for folder in (before, after)))
    changes = [fields_of(change) | {"factor": change.factor} for change in found.changes]
    facts = [
        Fact("stores", [str(before), str(after)], "stores"),
        Fact("same", found.same, "the same", whole(found.same)),
        Fact("changed", found.changed, "changed", whole(found.changed)),
        Fact("only_before", found.only_before, f"only in {before}", whole(found.only_before)),
        Fact("only_after", found.only_after, f"only in {after}", whole(found.only_after)),
        Fact("changes", changes),
    ]
    head = ("problem", "algorithm", "seed", "what", str(before), str(after), "factor")
    shown = found.changes[:_SHOWN]
    table = columns(head, _lines(shown), right=head[-3:]) if shown else None
    show_facts(facts, table, as_json=as_json)
    if len(found.changes) > len(shown) and not as_json:
        complain(f"{len(found.changes) - _SHOWN:,} more differences: --json has them all.")
    if found.unreadable:
        complain(f"{plural(found.unreadable, 'file')} damaged: see `pfbench store check`.")


def _lines(changes: "Sequence[Change]") -> Iterator[list[Any]]:
    for change in changes:
        where = change.problem, change.algorithm, str(change.seed), change.what
        factor = "" if change.factor is None else f"{change.factor:.4g}"
        yield [*where, _written(change.before), _written(change.after), factor]


def _written(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return "–" if value is None else whole(value) if isinstance(value, int) else str(value)
