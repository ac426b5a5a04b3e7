"""Compiled loops over arrays, which several subpackages share."""

import os

# Waiting threads must sleep: on a busy machine, spinning ones slow every loop many times. The
# OpenMP runtime reads this once, when numba loads it.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
