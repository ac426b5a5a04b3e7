"""Parameters by which problems are small, and small sets that are made of other objects."""

import numpy as np

from pfbench.sets.flow import UnitFlowPolytope
from pfbench.sets.matroid import SpanningTreePolytope
from pfbench.sets.submodular import SubmodularBasePolytope

SMALL = {
    "robust-matrix-recovery": "[rows=8,columns=7,rank=1]",
    "nonconvex-logistic": "[source=synthetic,rows=40,columns=4]",
    "multitask-sigmoid": "[rows=5,columns=4,kinds=2,copies=2]",
    "multiclass-logistic": "[source=synthetic,rows=30,columns=4,classes=3]",
    "robust-regression": "[rows=30,columns=4,set=none]",
    "log-cosh": "[rows=30,columns=4,penalty=l1,weight=0.1]",
    "quadratic": "[rows=30,columns=4,set=simplex]",
    "matrix-regression": "[rows=5,columns=4,rank=2,n=30]",
    "simplex-norm": "[columns=12]",
    "zero-chain": "[horizon=6]",
    "finite-sum-chain": "",
    "separable-quadratic": "[columns=4,noise=skewed,norm=linf]",
    "matrix-least-squares": "[norm=spectral,noise=normal]",
    "two-layer-network": "[norm=spectral*linf[radius=0.5]]",
    "additive": "[columns=4]",
    "matrix-additive": "[norm=spectral]",
    "multiplicative": "[columns=4,set=l2]",
    "cubic": "[columns=3,set=l2,radius=2]",
    "regression": "",
    "glm": "[set=l1,radius=1.5]",
}
"""Every problem of the catalogue, in a size that takes little time."""

# Numbered against the flow, with a parallel edge, a dead end, and a node before the origin.
_FLOW = np.array([(4, 3), (4, 2), (3, 2), (2, 0), (3, 0), (4, 3), (3, 5), (6, 4), (6, 2), (4, 0)])

# Two triangles that share an edge, a parallel edge, and a bridge.
_GRAPH = np.array([(0, 1), (1, 2), (0, 2), (2, 3), (1, 3), (0, 1), (3, 4)])

_COVERED = (frozenset({0, 1}), frozenset({1, 2, 3}), frozenset({3}), frozenset({0, 3, 4}))


def _covered(members):
    return float(len(frozenset().union(*(_COVERED[i] for i in members))))


BODIES = {
    "unit-flow": UnitFlowPolytope(_FLOW, 4, 0),
    "spanning-tree": SpanningTreePolytope(_GRAPH),
    "submodular-base": SubmodularBasePolytope(4, _covered),
}
"""The sets of the catalogue that need more than numbers."""
