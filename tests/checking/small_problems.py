"""Parameters of problems by which these are small."""

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
