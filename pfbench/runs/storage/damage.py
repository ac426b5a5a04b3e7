"""Kinds of damage of a file of the store."""

from types import MappingProxyType

from pfbench.base.errors import StorageError
from pfbench.base.escaping import escape_text

DAMAGES = MappingProxyType(
    {
        "not a file": "a folder, a link, a pipe or a device is in its place",
        "too large": "it is larger than anything that pfbench writes",
        "truncated": "its end is missing",
        "unreadable": "it cannot be read as what its name says",
        "wrong key": "it is the file of another key",
        "wrong schema version": "another version of pfbench has written it",
        "wrong content": "it does not match its hash",
        "incomplete": "a field of its metadata is missing or of a wrong type",
    }
)
"""Description of each kind of damage, by name."""

_LONGEST = 200


class DamagedFileError(StorageError):
    """Damaged file of the store.

    Attributes
    ----------
    reason
        A name in `DAMAGES`.
    detail
        The observation, in words; content of the file is shown, never executed.
    """

    def __init__(self, subject: str, detail: str) -> None:
        detail = escape_text(detail)
        detail = detail if len(detail) <= _LONGEST else f"{detail[:_LONGEST]}..."
        super().__init__(f"{subject} ({detail})")
        self.reason, self.detail = subject, detail
