"""numba with its registries loaded, as before its first compilation.

A fork server imports this module, so that its child processes need not load them.
"""

from numba.core.registry import cpu_target

cpu_target.typing_context.refresh()
cpu_target.target_context.refresh()
