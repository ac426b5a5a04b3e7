"""A function that calls back, turned into a generator: each stands still while the other runs."""

from collections.abc import Callable, Iterator
from contextvars import copy_context
from queue import SimpleQueue
from threading import Thread
from typing import Generic, TypeVar

Item = TypeVar("Item")

_PATIENCE = 5.0
"""Seconds that a function gets to end after it was told to."""


class ConsumerClosed(BaseException):
    """Raised in the function where it hands something over that nobody waits for any more."""


class _CallbackChannel(Generic[Item]):
    """What goes to and fro between the generator and the function in its thread."""

    def __init__(self, work: Callable[[Callable[[Item], None]], object]) -> None:
        self.work = work
        self.go_on: SimpleQueue[bool] = SimpleQueue()
        self.came: SimpleQueue[tuple[Item] | BaseException | None] = SimpleQueue()

    def hand_over(self, item: Item) -> None:
        """Hand an item over, and wait until more is asked for."""
        self.came.put((item,))
        if not self.go_on.get():
            raise ConsumerClosed

    def run_work(self) -> None:
        """Run the function to its end, or to what it raises."""
        ended: BaseException | None = None
        try:
            self.work(self.hand_over)
        except BaseException as error:  # it is raised again where the generator is asked
            ended = error
        self.came.put(ended)


def iterate_callback(work: Callable[[Callable[[Item], None]], object]) -> Iterator[Item]:
    """Yield what a function hands to the callback that it is given.

    The function runs in a thread of its own, but never at the same time as who asks for the items:
    so both see what they would in one thread, in the same order each time. What it raises is raised
    where the next item is asked for. If no more is asked for, its next callback raises
    `ConsumerClosed`.
    """
    exchange = _CallbackChannel(work)
    # Settings such as numpy's errstate belong to the context.
    thread = Thread(target=copy_context().run, args=(exchange.run_work,), daemon=True)
    thread.start()
    try:
        while came := exchange.came.get():
            if isinstance(came, BaseException):
                raise came
            yield came[0]
            exchange.go_on.put(True)
    finally:
        exchange.go_on.put(False)
        thread.join(_PATIENCE)
