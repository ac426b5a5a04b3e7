"""Attributes that an object delegates to one of its parts."""

from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")


class DelegatedAttribute(Generic[T]):
    """Attribute delegated to a part: ``radius = DelegatedAttribute[float]("ball")``.

    Parameters
    ----------
    part
        Name of the attribute that holds the part.
    """

    def __init__(self, part: str) -> None:
        self._part = part

    def __set_name__(self, owner: type, name: str) -> None:
        self._name, self.__doc__ = name, f"That of `{self._part}`."

    @overload
    def __get__(self, item: None, kind: type) -> Self: ...
    @overload
    def __get__(self, item: object, kind: type) -> T: ...
    def __get__(self, item: Any, kind: type) -> Any:
        return self if item is None else getattr(getattr(item, self._part), self._name)
