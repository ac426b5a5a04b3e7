"""The bookkeeping of tables with one entry for each component."""

from pfbench.base.arrays import Floats, Integers
from pfbench.kernels.compiled import checked, compiled


@compiled
def moved(indices: Integers, slot: int, slots: Integers, users: Integers) -> None:
    """Move these components to a slot; an index that occurs again has moved already."""
    for s in range(indices.size):
        i = checked(indices[s], slots.size)
        if slots[i] != slot:
            users[slots[i]] -= 1
            users[slot] += 1
            slots[i] = slot


@compiled
def tallied(indices: Integers, counts: Integers, slots: Integers, out: Floats) -> None:
    """Add to out, for each slot, how many draws there are of the components that have it."""
    for s in range(indices.size):
        i = checked(indices[s], slots.size)
        out[slots[i]] += counts[s] if counts.size else 1
