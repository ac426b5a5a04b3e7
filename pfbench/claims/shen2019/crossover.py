"""Section 4 of shen2019: below which epsilon the curvature-aided estimators need fewer SFO."""

from dataclasses import dataclass, replace
from functools import partial

from pfbench.claims.shen2019.cost import amortised
from pfbench.claims.shen2019.estimators import MEAN_SQUARED, METHODS
from pfbench.claims.shen2019.paths import attaining
from pfbench.verification import Claim, Evidence, Trial, instance
from pfbench.verification.statistics import all_of, decide_inequality


@dataclass(frozen=True)
class Crossover:
    """Below epsilon = factor (L^2/L2) n^power an estimator needs fewer SFO than SPIDERG."""

    factor: float
    power: float

    def epsilon(self, n: float) -> float:
        """Return the epsilon of n components where L = L2 = 1."""
        return float(self.factor * n**self.power)


CROSSOVERS = {"casvrg": Crossover(15.4, -0.75), "caspiderg": Crossover(6.4, -0.5)}
"""With the constants of the corrected laws: where their least costs meet SPIDERG's."""

PATHS = {
    name: instance(attaining, estimator=name, n=10**6, d=9) for name in (*CROSSOVERS, "spiderg")
}


def crossover(trial: Trial, *, estimator: str) -> Evidence:
    """Compare counted SFO with SPIDERG's on both sides of the stated crossover."""
    spider = replace(trial, subject=replace(trial.subject, algorithm=METHODS["spiderg"]))
    parts, found = {}, {}
    for n in trial.pick((1e5, 1e6), (1e5, 1e6, 1e7)):
        at = CROSSOVERS[estimator].epsilon(n)
        for factor in (0.25, 0.8, 1.25, 4.0):
            seed = trial.seeds(1, f"{n} {factor}")[0]
            ours, error = amortised(trial, PATHS[estimator], n, factor * at, seed)
            theirs, _ = amortised(spider, PATHS["spiderg"], n, factor * at, seed)
            ratio = ours / theirs if factor < 1.0 else theirs / ours
            parts[f"n={n:g}, {factor:g} of the crossover"] = replace(
                decide_inequality([ratio]), measured={"ratio": ratio, "(9)": error}
            )
        found[f"n={n:g}: crossover"] = at
    return Evidence(decision=all_of(parts), claimed=found, repetitions=2 * len(parts))


CLAIMS = tuple(
    Claim(
        name=f"shen2019-crossover-{name}",
        source="shen2019 section 4, corrected constants",
        kind="separation",
        statement=(
            f"{name.upper()} needs fewer SFO than SPIDERG below epsilon = {at.factor:g} (L^2/L2) "
            f"n^{at.power:g}, not above"
        ),
        check=partial(crossover, estimator=name),
        instances=(PATHS[name], PATHS["spiderg"]),
        algorithm=METHODS[name].name,
        assumptions=(MEAN_SQUARED,),
        schedule="least cost over S and p for which (9) holds",
        takes=(0.4, 0.6),
    )
    for name, at in CROSSOVERS.items()
)
