"""Oracle counts of one short run of each NFWU method with epochs: exact on every machine."""

import pfbench as pf


class Counts:
    """Period, batch and iterations do not divide one another, so every rounding shows."""

    params = ("nfwu-svrg", "nfwu-spiderg", "nfwu-casvrg", "nfwu-caspiderg")
    param_names = ("algorithm",)
    unit = "calls"
    version = "1"

    def setup_cache(self):
        problem = pf.problem("robust-matrix-recovery", source="synthetic", rank=5, seed=0)
        schedule = {"batch": 37, "period": 13, "iterations": 101, "step": 0.001}
        return {
            name: pf.solve(problem, pf.algorithm(name, **schedule), seed=0).counts
            for name in self.params
        }

    setup_cache.timeout = 300

    def track_sfo(self, counts, algorithm):
        return counts[algorithm].sfo

    def track_sso(self, counts, algorithm):
        return counts[algorithm].sso

    def track_hvp(self, counts, algorithm):
        return counts[algorithm].hvp

    def track_lo(self, counts, algorithm):
        return counts[algorithm].lo
