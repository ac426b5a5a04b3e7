"""What an object says as another one does that it holds."""

from typing import Any


def passed_on(to: str, *names: str) -> Any:
    """Return a property for each of some names, or for one: what the attribute `to` says there."""

    def one(name: str) -> property:
        return property(lambda self: getattr(getattr(self, to), name), doc=f"That of `{to}`.")

    return one(names[0]) if len(names) == 1 else tuple(map(one, names))
