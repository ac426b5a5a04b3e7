"""Bookkeeping of tables with one entry for each component."""

from pfbench.base.arrays import Floats, Integers
from pfbench.kernels.numba_compilation import check_index, compile_serial


@compile_serial
def move_components_to_slot(
    indices: Integers, slot: int, slot_of_component: Integers, slot_sizes: Integers
) -> None:
    """Assign components to a slot, and update the sizes; a repeated index moves once."""
    for s in range(indices.size):
        i = check_index(indices[s], slot_of_component.size)
        if slot_of_component[i] != slot:
            slot_sizes[slot_of_component[i]] -= 1
            slot_sizes[slot] += 1
            slot_of_component[i] = slot


@compile_serial
def add_draws_per_slot(
    indices: Integers, counts: Integers, slot_of_component: Integers, out: Floats
) -> None:
    """Add to out, for each slot, the number of draws of its components."""
    for s in range(indices.size):
        i = check_index(indices[s], slot_of_component.size)
        out[slot_of_component[i]] += counts[s] if counts.size else 1
