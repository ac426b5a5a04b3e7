"""Conversion of a function with a callback to a generator."""

from collections.abc import Callable, Iterator
from contextvars import copy_context
from queue import SimpleQueue
from threading import Thread
from typing import Generic, TypeVar

Item = TypeVar("Item")

_PATIENCE = 5.0
"""Seconds that a function has to end after the generator is closed."""


class ConsumerClosed(BaseException):
    """Raised in the function at its next callback after the generator is closed."""


class _CallbackChannel(Generic[Item]):
    """Exchange of items between the generator and the function in its thread."""

    def __init__(self, work: Callable[[Callable[[Item], None]], object]) -> None:
        self.work = work
        self.go_on: SimpleQueue[bool] = SimpleQueue()
        self.came: SimpleQueue[tuple[Item] | BaseException | None] = SimpleQueue()

    def hand_over(self, item: Item) -> None:
        """Pass an item to the generator, and wait until the next one is requested."""
        self.came.put((item,))
        if not self.go_on.get():
            raise ConsumerClosed

    def run_work(self) -> None:
        """Run the function until it returns or raises."""
        ended: BaseException | None = None
        try:
            self.work(self.hand_over)
        except BaseException as error:  # it is raised again where the generator is asked
            ended = error
        self.came.put(ended)


def iterate_callback(work: Callable[[Callable[[Item], None]], object]) -> Iterator[Item]:
    """Yield the items that a function passes to its callback.

    The function runs in its own thread, but never at the same time as the consumer of the items: so
    both behave as in a single thread, in a reproducible order. An exception of the function is
    raised where the next item is requested. If the generator is closed, the next callback raises
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
