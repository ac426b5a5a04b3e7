"""Planted faults that the claims about a method must catch."""

from pfbench.algorithms.estimator_algorithm import EstimatorAlgorithm
from pfbench.algorithms.nfwu import NFWUSG, NFWUSPIDERG
from pfbench.algorithms.proximal import ProxGD, ProximalMethod, ProxSAGA, ProxSpiderBoost, ProxSVRG
from pfbench.claims.methods.method_claims import find_claim_about_method
from pfbench.estimators import SAGA, SG, SPIDERG, SVRG
from pfbench.verification import Mutant

_STALE = {
    "iterations = count()": "iterations, starts = count(), []",
    "g = self.reference_gradient(ask, x": "starts.append(keep(x))\n"
    "                g = self.reference_gradient(ask, starts[0]",
}

MUTANTS = (
    Mutant.from_edits(
        NFWUSPIDERG,
        SPIDERG,
        "methods-nfwu-stale",
        "Takes every reference gradient at the start point.",
        _STALE,
        find_claim_about_method("run", "nfwu-spiderg"),
    ),
    Mutant.from_edits(
        ProxSpiderBoost,
        SPIDERG,
        "methods-boost-stale",
        "Takes every reference gradient at the start point.",
        _STALE,
        find_claim_about_method("run", "prox-spiderboost"),
    ),
    Mutant.from_edits(
        ProxSVRG,
        SVRG,
        "methods-svrg-one-used",
        "Pays for b components and uses one.",
        {"self.draw(ask, rng)": "np.repeat(rng.integers(ask.n, size=1), self.batch)"},
        find_claim_about_method("law", "prox-svrg"),
    ),
    Mutant.from_edits(
        ProxSAGA,
        SAGA,
        "methods-saga-fixed-table",
        "Never updates the table after the start, but pays for the updates.",
        {"table.replace(": "table.difference("},
        find_claim_about_method("run", "prox-saga"),
    ),
    Mutant.from_edits(
        ProxGD,
        ProximalMethod.move,
        "methods-gd-half-step",
        "Takes half the step.",
        {"self.step": "self.step / 2.0"},
        find_claim_about_method("run", "prox-gd"),
    ),
    Mutant.from_edits(
        NFWUSG,
        EstimatorAlgorithm.run,
        "methods-sg-second-half",
        "Draws its output from the second half of the points.",
        {
            "for t in": "chosen = int(rng.integers(self.iterations // 2, self.iterations))\n"
            "        output = None\n"
            "        for t in",
            "yield State(x, at, g,": "output = np.array(at) if t == chosen else output\n"
            "            yield State(x, at, g, output,",
        },
        find_claim_about_method("law", "nfwu-sg"),
    ),
    Mutant.from_edits(
        NFWUSG,
        SG,
        "methods-sg-bypass",
        "Queries the backend directly, bypassing the ledger.",
        {"ask.batch(": "ask._backend.batch("},
        *(find_claim_about_method(subject, "nfwu-sg") for subject in ("run", "count")),
    ),
    Mutant.from_edits(
        ProxSVRG,
        ProxSVRG,
        "methods-svrg-doubled-step",
        "Its theorem's schedule has twice the step.",
        {"step=1.0": "step=2.0"},
        find_claim_about_method("schedule", "prox-svrg"),
    ),
)
