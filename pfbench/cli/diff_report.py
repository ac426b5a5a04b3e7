"""``pfbench report --compare``: differences between two stores."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pfbench.base.errors import InputError
from pfbench.cli.formatting import format_count, format_plural
from pfbench.cli.terminal import dataclass_as_dict, print_error
from pfbench.cli.terminal_tables import ReportedFact, make_table, show_facts

if TYPE_CHECKING:
    from pfbench.reporting.stores import RunDifference

_SHOWN = 200
"""Maximum number of printed differences; --json has them all."""


def show_changes(old_store: Path, new_store: Path, *, as_json: bool) -> None:
    """Print the differences between two stores."""
    from pfbench.reporting.stores import compare_stores
    from pfbench.runs.storage.store import Store

    if old_store.resolve() == new_store.resolve():
        raise InputError(f"--compare {old_store} {new_store} names one store twice: name two.")
    diff = compare_stores(*(Store(folder, make=False) for folder in (old_store, new_store)))
    changes = [dataclass_as_dict(change) | {"factor": change.factor} for change in diff.changes]
    facts = [
        ReportedFact("stores", [str(old_store), str(new_store)], "stores"),
        ReportedFact("identical", diff.identical, "the same", format_count(diff.identical)),
        ReportedFact("changed", diff.changed_count, "changed", format_count(diff.changed_count)),
        ReportedFact(
            "only_before", diff.only_before, f"only in {old_store}", format_count(diff.only_before)
        ),
        ReportedFact(
            "only_after", diff.only_after, f"only in {new_store}", format_count(diff.only_after)
        ),
        ReportedFact("changes", changes),
    ]
    head = ("problem", "algorithm", "seed", "what", str(old_store), str(new_store), "factor")
    differences = diff.changes[:_SHOWN]
    table = make_table(head, _change_rows(differences), right=head[-3:]) if differences else None
    show_facts(facts, table, as_json=as_json)
    if len(diff.changes) > len(differences) and not as_json:
        print_error(f"{len(diff.changes) - _SHOWN:,} more differences: --json has them all.")
    if diff.unreadable:
        print_error(f"{format_plural(diff.unreadable, 'file')} damaged: see `pfbench store check`.")


def _change_rows(changes: "Sequence[RunDifference]") -> Iterator[list[Any]]:
    for change in changes:
        location = change.problem, change.algorithm, str(change.seed), change.field
        factor = "" if change.factor is None else f"{change.factor:.4g}"
        yield [*location, _format_value(change.before), _format_value(change.after), factor]


def _format_value(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return "–" if value is None else format_count(value) if isinstance(value, int) else str(value)
