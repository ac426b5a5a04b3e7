"""What can be wrong with a file of the store."""

from types import MappingProxyType

from pfbench.base.errors import StorageError

DAMAGES = MappingProxyType(
    {
        "truncated": "its end is missing",
        "unreadable": "it is not what its name says",
        "wrong key": "it is the file of another key",
        "wrong schema version": "another version of pfbench has written it",
        "wrong content": "it does not match its hash",
        "incomplete": "a field of its metadata is missing or of a wrong type",
    }
)
"""What can be wrong with a file, by name."""


class Damaged(StorageError):
    """A file of the store that cannot be used.

    Attributes
    ----------
    what
        One of `DAMAGES`.
    detail
        What was seen, in words.
    """

    def __init__(self, what: str, detail: str) -> None:
        super().__init__(f"{what} ({detail})")
        self.what, self.detail = what, detail
