"""Cost of `Watch`: steps of a network of 10^6 parameters with it and without it, in turns.

    python -m benchmarks.watching [rounds]

Both loops run in one process and take turns of twenty steps; seconds are of the processor, so that
other processes of the machine change them little.
"""

import sys
import time
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # asv imports this file where torch is not installed
    import torch

TURN, BATCH = 20, 64
SIZES = (256, 768, 768, 256)


def network() -> "torch.nn.Module":
    """Return a network of 10^6 parameters in three layers."""
    import torch

    torch.manual_seed(0)
    layers = [
        layer
        for rows, columns in pairwise(SIZES)
        for layer in (torch.nn.Linear(rows, columns, bias=False), torch.nn.Tanh())
    ]
    return torch.nn.Sequential(*layers[:-1])


class Loop:
    """Training loop on fixed batches, which sums the seconds of its steps."""

    def __init__(self, make, watched: bool) -> None:
        import torch

        from pfbench.torch import Watch

        self.model = network()
        self.optimizer = make(self.model.parameters())
        self.watch = Watch(self.optimizer, self.model) if watched else None
        self.data = torch.randn(BATCH, SIZES[0])
        self.seconds = 0.0

    def turn(self) -> None:
        """Make the steps of one turn."""
        begin = time.process_time()
        for _ in range(TURN):
            self.optimizer.zero_grad()
            self.model(self.data).square().mean().backward()
            self.optimizer.step()
        self.seconds += time.process_time() - begin


def main(rounds: int) -> None:
    """Print the time of a step with `Watch` and without it."""
    import torch

    count = sum(p.numel() for p in network().parameters())
    print(f"{count:,} parameters, {rounds} turns of {TURN} steps each")
    for name, make in (
        ("AdamW", lambda p: torch.optim.AdamW(p, lr=1e-3)),
        ("Muon", lambda p: torch.optim.Muon(p, lr=1e-2)),
    ):
        loops = [Loop(make, watched) for watched in (False, True)]
        for loop in loops:  # a turn that is not counted: allocations, and the first measured step
            loop.turn()
            loop.seconds = 0.0
        for k in range(rounds):
            for loop in loops if k % 2 else loops[::-1]:
                loop.turn()
        plain, watched = (loop.seconds / rounds / TURN for loop in loops)
        measured = loops[1].watch.measurement_count
        print(
            f"{name:6} {1e3 * plain:7.2f} ms without, {1e3 * watched:7.2f} ms with Watch: "
            f"{watched / plain - 1:+.1%}; {measured} steps measured"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
