"""Observation of a user's PyTorch loop: counts, measured constants, optimiser checks.

`pfbench.torch` is public. Importing it requires torch.
"""

from importlib import import_module

try:
    import_module("torch")
except ImportError:
    raise ImportError('pfbench.torch needs PyTorch: pip install "pfbench[torch]".') from None

from pfbench.sets.orthogonalisers import PRESETS, certify_interval
from pfbench.torch.watch import Watch

__all__ = ["PRESETS", "Watch", "certify_interval"]
