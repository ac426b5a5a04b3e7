"""The kinds of entries: what one place says of them and another checks belongs together."""

from pfbench.runs.storage.entry_kinds import KINDS
from pfbench.runs.storage.field_types import ROWS


def test_every_kind_has_fields_and_a_place_of_its_own():
    assert {"run", *ROWS} == {*KINDS}
    folders = [kind.file.partition("/")[0] for kind in KINDS.values()]
    assert len(set(folders)) == len(KINDS)
    assert all("{shard}/{key}" in kind.file for kind in KINDS.values())
