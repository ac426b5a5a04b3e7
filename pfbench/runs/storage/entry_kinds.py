"""What a store holds: the kinds of entries, and the words of a verdict. Importing it is quick."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class EntryKind(NamedTuple):
    """A kind of entries.

    Attributes
    ----------
    file
        The path of an entry's file in the store; a shard is a key's first two characters.
    max_bytes
        Bytes of the largest file.
    """

    file: str
    max_bytes: int


KINDS: Mapping[str, EntryKind] = MappingProxyType(
    {
        "run": EntryKind("runs/{shard}/{key}.parquet", 2**28),
        "verdict": EntryKind("verdicts/{shard}/{key}.json", 2**23),
        "finding": EntryKind("findings/{shard}/{key}.json", 2**23),
        "certificate": EntryKind("certificates/{shard}/{key}.json", 2**23),
        "fault": EntryKind("faults/{shard}/{key}.json", 2**16),
    }
)
"""The kinds of entries by name; `schema` has the types of their fields."""

KEY = re.compile(r"[0-9a-zA-Z_-]{8,128}")
"""The form of a key, which is a part of a file's name."""
