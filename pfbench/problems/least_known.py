"""The least known objectives of non-convex problems on real data, with where they come from.

`tests/tools/least_known.py` finds them and prints this table.
"""

from collections.abc import Mapping
from types import MappingProxyType

LEAST_KNOWN: Mapping[str, tuple[float, str]] = MappingProxyType(
    {
        # nonconvex-logistic[source=breast-cancer,set=none]
        "8b2fbbd36420e859": (
            0.25768919296012427,
            "least of 5 runs of L-BFGS, of which 3 end there; norm of the gradient mapping 9.6e-10",
        ),
        # nonconvex-logistic[source=breast-cancer,penalty=l1,weight=0.1]
        "b5a746c14a8c1395": (
            0.5197140916196435,
            "least of 5 runs of accelerated proximal gradients, of which 5 end there; "
            "norm of the gradient mapping 4.5e-13",
        ),
        # robust-regression[source=breast-cancer,set=none]
        "ade9b4ca02906742": (
            0.1206466160564341,
            "least of 5 runs of L-BFGS, of which 5 end there; norm of the gradient mapping 1.5e-09",
        ),
        # robust-regression[source=breast-cancer,penalty=l1,weight=0.1]
        "5cdd58c9a93e6556": (
            0.22923493061360248,
            "least of 5 runs of accelerated proximal gradients, of which 5 end there; "
            "norm of the gradient mapping 1.8e-12",
        ),
        # nonconvex-logistic[source=a9a,set=none]
        "2c4eb91553c5ee18": (
            0.5057912583706596,
            "least of 5 runs of L-BFGS, of which 5 end there; norm of the gradient mapping 5.5e-09",
        ),
        # nonconvex-logistic[source=a9a,penalty=l1,weight=0.1]
        "e530e36007c6dec4": (
            0.6494559882762625,
            "least of 5 runs of accelerated proximal gradients, of which 5 end there; "
            "norm of the gradient mapping 1.8e-13",
        ),
        # robust-regression[source=a9a,set=none]
        "e9640372d2a2b8ad": (
            0.17365833242769704,
            "least of 5 runs of L-BFGS, of which 5 end there; norm of the gradient mapping 1.5e-08",
        ),
        # robust-regression[source=a9a,penalty=l1,weight=0.1]
        "a08c80379e4a8318": (
            0.3046150756506337,
            "least of 5 runs of accelerated proximal gradients, of which 5 end there; "
            "norm of the gradient mapping 8.2e-13",
        ),
        # nonconvex-logistic[source=w8a,set=none]
        "206e81ed05b55def": (
            0.46569978934350637,
            "least of 5 runs of L-BFGS, of which 5 end there; norm of the gradient mapping 4.9e-11",
        ),
        # nonconvex-logistic[source=w8a,penalty=l1,weight=0.1]
        "a99e4004050c7132": (
            0.6809400097425125,
            "least of 5 runs of accelerated proximal gradients, of which 5 end there; "
            "norm of the gradient mapping 6.1e-14",
        ),
        # robust-regression[source=w8a,set=none]
        "db596e41670691ae": (
            0.15109076374978056,
            "least of 5 runs of L-BFGS, of which 5 end there; norm of the gradient mapping 2.2e-08",
        ),
        # robust-regression[source=w8a,penalty=l1,weight=0.1]
        "13b5ad4ce0d7ff5f": (
            0.34618110513376366,
            "least of 5 runs of accelerated proximal gradients, of which 5 end there; "
            "norm of the gradient mapping 3.6e-13",
        ),
    }
)
"""By the hash of the function (`LinearModel.function`)."""
