"""Best known objectives of non-convex problems on real data, with their origin.

`tests/tools/least_known.py` computes them and prints the table.
"""

from collections.abc import Mapping
from types import MappingProxyType

_FOUND: Mapping[str, tuple[float, str, int, float]] = MappingProxyType(
    {
        # nonconvex-logistic[source=breast-cancer,set=none]
        "8b2fbbd36420e859": (0.25768919296012427, "L-BFGS", 3, 9.6e-10),
        # nonconvex-logistic[source=breast-cancer,penalty=l1,weight=0.1]
        "b5a746c14a8c1395": (0.5197140916196435, "accelerated proximal gradients", 5, 4.5e-13),
        # robust-regression[source=breast-cancer,set=none]
        "ade9b4ca02906742": (0.1206466160564341, "L-BFGS", 5, 1.5e-09),
        # robust-regression[source=breast-cancer,penalty=l1,weight=0.1]
        "5cdd58c9a93e6556": (0.22923493061360248, "accelerated proximal gradients", 5, 1.8e-12),
        # nonconvex-logistic[source=a9a,set=none]
        "2c4eb91553c5ee18": (0.5057912583706596, "L-BFGS", 5, 5.5e-09),
        # nonconvex-logistic[source=a9a,penalty=l1,weight=0.1]
        "e530e36007c6dec4": (0.6494559882762625, "accelerated proximal gradients", 5, 1.8e-13),
        # robust-regression[source=a9a,set=none]
        "e9640372d2a2b8ad": (0.17365833242769704, "L-BFGS", 5, 1.5e-08),
        # robust-regression[source=a9a,penalty=l1,weight=0.1]
        "a08c80379e4a8318": (0.3046150756506337, "accelerated proximal gradients", 5, 8.2e-13),
        # nonconvex-logistic[source=w8a,set=none]
        "206e81ed05b55def": (0.46569978934350637, "L-BFGS", 5, 4.9e-11),
        # nonconvex-logistic[source=w8a,penalty=l1,weight=0.1]
        "a99e4004050c7132": (0.6809400097425125, "accelerated proximal gradients", 5, 6.1e-14),
        # robust-regression[source=w8a,set=none]
        "db596e41670691ae": (0.15109076374978056, "L-BFGS", 5, 2.2e-08),
        # robust-regression[source=w8a,penalty=l1,weight=0.1]
        "13b5ad4ce0d7ff5f": (0.34618110513376366, "accelerated proximal gradients", 5, 3.6e-13),
    }
)
"""Least value, its method, number of 5 runs that reach this value, gradient-mapping norm."""

LEAST_KNOWN: Mapping[str, tuple[float, str]] = MappingProxyType(
    {
        function: (
            value,
            f"least value of 5 runs of {method}, reached by {runs} of them; "
            f"norm of the gradient mapping {norm:.1e}",
        )
        for function, (value, method, runs, norm) in _FOUND.items()
    }
)
"""Best known value and its origin, by `LinearModel.digest_without_start`."""
