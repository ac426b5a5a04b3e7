"""What a store holds: the kinds of entries, and the form of a key. Importing it is quick."""

import re
from collections.abc import Mapping
from types import MappingProxyType

KINDS: Mapping[str, int] = MappingProxyType(
    {"run": 2**22, "verdict": 2**23, "finding": 2**23, "certificate": 2**23, "fault": 2**16}
)
"""Bytes of the longest metadata of an entry, by the name of its kind."""

KEY = re.compile(r"[0-9a-zA-Z_-]{8,128}")
"""The form of a key."""
