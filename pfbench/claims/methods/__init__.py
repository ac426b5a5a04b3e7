"""Every method of the catalogue held to what its own source says of it, step by step.

A file for each family, as `pfbench/algorithms/` has them; `stating.py` makes their claims.
"""

from pfbench.claims.methods import (
    accelerated,
    active_set,
    faults,
    frank_wolfe,
    lan_sliding,
    loopless,
    loopless_frank_wolfe,
    natasha,
    nfwu,
    norms,
    proximal,
    restarted,
    sliding,
    spider,
    stochastic_frank_wolfe,
)
from pfbench.verification.claim import Paper

PAPER = Paper.of(
    "methods",
    "The methods as their sources state them",
    (
        *(frank_wolfe, stochastic_frank_wolfe, nfwu, sliding, restarted),
        *(proximal, spider, accelerated, natasha),
        *(loopless, loopless_frank_wolfe, active_set, lan_sliding, norms, faults),
    ),
)
