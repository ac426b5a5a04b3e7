"""Bookkeeping of tables with one entry for each component."""

from pfbench.base.arrays import Floats, Integers
from pfbench.kernels.numba_compilation import check_index, compile_serial


@compile_serial
def move_to_slot(indices: Integers, slot: int, slots: Integers, users: Integers) -> None:
    """Assign components to a slot, and update the sizes; a repeated index moves once."""
    for s in range(indices.size):
        i = check_index(indices[s], slots.size)
        if slots[i] != slot:
            users[slots[i]] -= 1
            users[slot] += 1
            slots[i] = slot


@compile_serial
def tally_draws(indices: Integers, counts: Integers, slots: Integers, out: Floats) -> None:
    """Add to out, for each slot, the number of draws of its components."""
    for s in range(indices.size):
        i = check_index(indices[s], slots.size)
        out[slots[i]] += counts[s] if counts.size else 1
