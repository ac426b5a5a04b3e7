"""The kinds of entries: what one place says of them and another checks belongs together."""

from pfbench.runs.storage.entry_kinds import KINDS
from pfbench.runs.storage.field_types import ROWS


def test_every_kind_has_fields():
    assert {"run", *ROWS} == {*KINDS}
