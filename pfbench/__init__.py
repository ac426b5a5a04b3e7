"""pfbench: tests of published claims about projection-free and variance-reduced methods.

The public names are those of `pfbench.api`; each is loaded on first use, so that importing pfbench
is quick.
"""

from typing import TYPE_CHECKING

from pfbench.base.lazy import lazy_names

if TYPE_CHECKING:
    from pfbench.api import *  # noqa: F403

__version__ = "0.1.0"
_HOMES, __all__, __getattr__, __dir__ = lazy_names(__name__, "api")
