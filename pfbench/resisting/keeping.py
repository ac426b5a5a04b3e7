"""Certificates in the store: the same one is not made twice."""

from collections.abc import Mapping
from typing import Any

from pfbench.base.selectors import Selector
from pfbench.resisting import certificate
from pfbench.resisting.certificate import Certificate
from pfbench.resisting.contestants import Contestant
from pfbench.runs.storage.keys import content_key, environment, source_digest, source_note
from pfbench.runs.storage.store import Store


def key_of(one: Contestant, T: int, d: int | None, seed: int) -> str:
    """Return the content key of a certificate; the arguments are those of `certify`."""
    content = {"certificate": one.selector, "horizon": T, "dimension": d, "seed": seed}
    return content_key(content, source_digest(_modules(one)), environment())


def find(store: Store, key: str) -> Certificate | None:
    """Return a stored certificate, or None if there is none."""
    row = store.get_row("certificate", key)
    return None if row is None else Certificate.of(row)


def keep(store: Store, key: str, one: Contestant, row: Mapping[str, Any]) -> None:
    """Store a certificate as JSON has it; its transcript is not stored.

    Raises
    ------
    StorageError
        If the store cannot be written.
    """
    modules = _modules(one)
    note = source_note(modules, source_digest(modules))
    store.put_row("certificate", key, row, {"source": note})


def _modules(one: Contestant) -> frozenset[str]:
    # A function of somebody's module may return what a class of another one made.
    module, own, _ = Selector.parse(one.selector).name.partition(":")
    named = {module} if own else set()
    return frozenset({certificate.__name__, type(one.algorithm).__module__, *named})
