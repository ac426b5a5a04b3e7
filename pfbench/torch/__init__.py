"""A user's own PyTorch loop: exact counts, measured constants, and the steps of its optimiser.

`pfbench.torch` is public. Importing it needs torch.
"""

from importlib.util import find_spec

if find_spec("torch") is None:
    raise ImportError('pfbench.torch needs PyTorch: pip install "pfbench[torch]".')

from pfbench.torch.orthogonalisers import PRESETS, certified_interval
from pfbench.torch.watch import Watch

__all__ = ["PRESETS", "Watch", "certified_interval"]
