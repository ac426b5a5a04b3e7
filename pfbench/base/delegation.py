"""What an object says as another one does that it holds."""

from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")


class DelegatedAttribute(Generic[T]):
    """An attribute of an object's part as its own: ``radius = PassedOn[float]("ball")``.

    Parameters
    ----------
    part
        The name of the attribute that holds the part.
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
