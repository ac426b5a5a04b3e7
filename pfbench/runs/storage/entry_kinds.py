"""Kinds of entries of a store, and the form of a key, in a module that is quick to import."""

import re
from collections.abc import Mapping
from types import MappingProxyType

KINDS: Mapping[str, int] = MappingProxyType(
    {"run": 2**22, "verdict": 2**23, "finding": 2**23, "certificate": 2**23, "fault": 2**16}
)
"""Maximum size in bytes of an entry's metadata, by kind."""

KEY = re.compile(r"[0-9a-zA-Z_-]{8,128}")
"""Form of a key."""
