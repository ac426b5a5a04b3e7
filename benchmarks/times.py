"""Times: whole iterations, and what counting adds to a call."""

import pfbench as pf
from pfbench.oracles import Ledger, Oracles


class FrankWolfe:
    version = "1"

    def setup(self):
        self.problem = pf.problem("robust-matrix-recovery", source="synthetic", rank=5, seed=0)
        self.algorithm = pf.algorithm("frank-wolfe", step="open-loop", iterations=20)
        pf.solve(self.problem, self.algorithm, seed=0)  # compile

    def time_twenty_iterations(self):
        pf.solve(self.problem, self.algorithm, seed=0)


class Silent:
    """A backend that answers at once."""

    n = 1

    def lo(self, g):
        return g


class Counting:
    """The difference of the two is what the ledger costs a call."""

    version = "1"

    def setup(self):
        self.backend = Silent()
        self.ask = Oracles(self.backend, Ledger(), 1.0)

    def time_counted_call(self):
        self.ask.lo(None)

    def time_bare_call(self):
        self.backend.lo(None)
