"""pfbench: tests of published claims about projection-free and variance-reduced methods.

The public names are those of `pfbench.api`; each is loaded on first use, so that importing pfbench
is quick.
"""

from typing import TYPE_CHECKING

from pfbench.base.lazy import lazy_getattr, modules_of_public_names

if TYPE_CHECKING:
    from pfbench.api import *  # noqa: F403

_HOMES = modules_of_public_names(__name__, "api")
__all__ = list(_HOMES)
__version__ = "0.1.0"
__getattr__ = lazy_getattr(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
