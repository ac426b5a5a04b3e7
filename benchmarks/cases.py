"""Cases: one short run to a target for each algorithm, from which exact counts are taken.

The problems are made, small, and one that suits each family. Schedules do not divide one another,
so that every rounding shows; a target is met before its schedule ends. Counted are the calls up to
the target, or to the end of the schedule.

A change that is meant to change the counts of a case raises its `version`, and then
``python -m benchmarks.history accept`` writes the new counts to ``counts.json``.
"""

from dataclasses import dataclass

import pfbench as pf
from pfbench.base.selectors import Selector

RECOVERY = "robust-matrix-recovery[rows=30,columns=25,rank=3,density=0.3,seed=5]"
LOG_COSH = "log-cosh[rows=60,columns=8,seed=3,set=l1,radius=2]"
MULTITASK = "multitask-sigmoid[rows=12,columns=9,kinds=2,copies=3]"
MULTICLASS = "multiclass-logistic[source=synthetic,rows=50,columns=9,classes=4]"
SIGNS = "separable-quadratic[columns=5,noise=normal,components=16,sigma=1,norm=linf]"
LENGTHS = "separable-quadratic[columns=5,noise=normal,components=16,sigma=1,norm=l2]"
SPECTRAL = "matrix-least-squares[noise=normal,components=16,sigma=1,norm=spectral]"
QUINTIC = 'matrix-least-squares[noise=normal,components=16,sigma=1,norm="spectral[lmo=quintic]"]'
SENSING = "matrix-regression[rows=8,columns=8,rank=1,n=90]"
LOGISTIC = "nonconvex-logistic[source=synthetic,rows=60,columns=8,seed=3,penalty=l1,weight=0.01]"
ROBUST = "robust-regression[source=synthetic,rows=60,columns=8,seed=3,set=none]"

_LARGE = "batch=37,period=5,iterations=61"
_SMALL = "batch=7,period=5,iterations=61"
_SAMPLED = "batch=7,iterations=61"
_RESTARTED = "restarts=3,period=6,smoothness=98.0,curvature=20.0,delta=1330.0"


@dataclass(frozen=True)
class Case:
    """Algorithm with its schedule on a problem, and the target up to which calls are counted."""

    problem: str
    algorithm: str
    target: str
    version: int = 1

    @property
    def name(self) -> str:
        return Selector.parse(self.algorithm).name

    def run(self) -> "pf.Run":
        """Run the algorithm until its target is reached or its schedule ends."""
        problem, algorithm = Selector.parse(self.problem), Selector.parse(self.algorithm)
        return pf.solve(
            pf.problem(problem.name, **problem.parameters),
            pf.algorithm(algorithm.name, **algorithm.parameters),
            seed=11,
            stop=pf.Stop.parse(self.target),
        )


_ALL = (
    # Rounding decides what a line search asks for, and when a gap is first met.
    Case(RECOVERY, "frank-wolfe[iterations=61,step=open-loop]", "objective=0.28", version=2),
    Case(MULTICLASS, "heavy-ball-fw[iterations=61]", "objective=0.645"),
    Case(MULTICLASS, "optimistic-fw[iterations=61]", "objective=0.645"),
    Case(LOG_COSH, "local-lmo[iterations=61]", "objective=0.24"),
    Case(RECOVERY, "sfw[step=0.05,batch=30,iterations=61]", "objective=0.455"),
    Case(RECOVERY, f"svfw[step=0.05,{_LARGE}]", "objective=0.38"),
    Case(LOG_COSH, f"sagafw[step=0.05,{_SAMPLED}]", "objective=0.24"),
    Case(RECOVERY, "nfwu-sg[step=0.05,batch=37,iterations=61]", "objective=0.45"),
    Case(RECOVERY, f"nfwu-svrg[step=0.05,{_LARGE}]", "objective=0.385"),
    Case(RECOVERY, f"nfwu-spiderg[step=0.05,{_LARGE}]", "objective=0.415"),
    Case(RECOVERY, f"nfwu-casvrg[step=0.05,{_LARGE}]", "objective=0.3"),
    Case(LOG_COSH, f"nfwu-caspiderg[step=0.05,{_SMALL}]", "objective=0.24"),
    Case(MULTITASK, "ncgs[smoothness=1.7,tolerance=0.005,iterations=23]", "objective=0.05"),
    Case(LOG_COSH, "ncgs-stochastic[smoothness=0.3,tolerance=0.005,iterations=23]", "fw_gap=0.05"),
    Case(
        MULTICLASS,
        "ncgs-vr[smoothness=0.1,tolerance=0.01,batch=7,period=5,iterations=23]",
        "objective=0.7",
    ),
    Case(SENSING, f"cgs[{_RESTARTED}]", "objective=900"),
    Case(SENSING, f"storc[{_RESTARTED},batch=200]", "objective=900"),
    Case(RECOVERY, "scg[step=0.05,batch=30,iterations=61]", "objective=0.43"),
    Case(SPECTRAL, f"uscg[step=0.05,{_SAMPLED}]", "dual_norm=3"),
    Case(SIGNS, f"uscg-mvr[step=0.05,alpha=0.3,snapshot=11,{_SAMPLED}]", "dual_norm=1"),
    Case(SIGNS, f"uscg-transport[step=0.05,alpha=0.3,snapshot=11,{_SAMPLED}]", "dual_norm=1"),
    Case(SPECTRAL, f"almond[step=0.05,alpha=0.3,{_SAMPLED}]", "dual_norm=3"),
    Case(SPECTRAL, f"muon[step=0.05,beta=0.7,{_SAMPLED}]", "dual_norm=3"),
    Case(QUINTIC, f"muon-nesterov[step=0.05,beta=0.7,{_SAMPLED}]", "dual_norm=3"),
    Case(SPECTRAL, f"normuon[step=0.05,beta=0.7,{_SAMPLED}]", "dual_norm=3"),
    Case(SIGNS, f"signum[step=0.05,beta=0.7,{_SAMPLED}]", "dual_norm=1"),
    Case(LENGTHS, f"normalised-sgd[step=0.05,beta=0.7,{_SAMPLED}]", "dual_norm=1"),
    Case(LOGISTIC, "prox-gd[step=2.0,iterations=61]", "gradient_mapping_sq=1e-7"),
    Case(MULTICLASS, "projected-gradient[step=5.0,iterations=61]", "objective=0.645"),
    Case(LOGISTIC, f"prox-sgd[step=1.0,{_SAMPLED}]", "gradient_mapping_sq=0.0015"),
    Case(ROBUST, f"svrg[step=1.0,{_SMALL}]", "objective=0.004"),
    Case(LOGISTIC, f"prox-svrg[step=1.0,{_SMALL}]", "gradient_mapping_sq=1e-6"),
    Case(LOG_COSH, f"projected-svrg[step=1.0,{_SMALL}]", "fw_gap=0.0005"),
    Case(LOGISTIC, f"prox-svrg-plus[step=1.0,{_SMALL},snapshot=20]", "gradient_mapping_sq=0.002"),
    Case(ROBUST, f"saga[step=1.0,{_SAMPLED}]", "objective=0.004"),
    Case(ROBUST, f"sag[step=1.0,{_SAMPLED}]", "objective=0.004"),
    Case(LOGISTIC, f"prox-saga[step=1.0,{_SAMPLED}]", "gradient_mapping_sq=5e-6"),
    Case(ROBUST, f"spiderboost[step=1.0,{_SMALL}]", "objective=0.003"),
    Case(LOGISTIC, f"prox-spiderboost[step=1.0,{_SMALL}]", "gradient_mapping_sq=1e-6"),
    Case(ROBUST, f"sarah[step=1.0,{_SMALL}]", "objective=0.02"),
    Case(ROBUST, f"spider[step=0.05,lam=1.0,{_SMALL}]", "objective=0.02"),
    Case(LOGISTIC, f"prox-spiderboost-m[step=1.0,{_SMALL}]", "gradient_mapping_sq=1e-7"),
    Case(ROBUST, f"asvrg[step=0.5,{_SMALL}]", "objective=0.004"),
    Case(LOG_COSH, f"prox-asvrg[step=0.5,{_SMALL}]", "fw_gap=0.01"),
    Case(ROBUST, f"katyusha-ns[step=0.5,{_SMALL}]", "objective=0.004"),
    Case(LOG_COSH, f"prox-katyusha-ns[step=0.5,{_SMALL}]", "fw_gap=0.002"),
    Case(ROBUST, f"rsag[step=1.0,{_SAMPLED}]", "objective=0.003"),
    Case(LOGISTIC, f"prox-rsag[step=1.0,{_SAMPLED}]", "gradient_mapping_sq=0.0015"),
    Case(
        LOGISTIC,
        "natasha15[step=0.5,sigma=0.2,snapshot=20,subepochs=3,batch=2,iterations=61]",
        "gradient_mapping_sq=0.0025",
    ),
    Case(LOG_COSH, "afw[smoothness=0.3,iterations=61]", "fw_gap=0.01"),
    Case(LOG_COSH, "pfw[smoothness=0.3,iterations=61]", "fw_gap=0.01"),
    Case(LOG_COSH, "bpfw[smoothness=0.3,iterations=61,lazy=true]", "fw_gap=0.01"),
    Case(RECOVERY, "nfwu-page[step=0.05,refresh=0.15,batch=37,iterations=61]", "objective=0.415"),
    Case(RECOVERY, "nfwu-lsvrg[step=0.05,refresh=0.15,batch=37,iterations=61]", "objective=0.38"),
    Case(RECOVERY, "nfwu-storm[step=0.05,alpha=0.2,batch=37,iterations=61]", "objective=0.47"),
    Case(RECOVERY, f"spider-fw[step=0.05,{_LARGE}]", "objective=0.415"),
    Case(RECOVERY, "page-fw[step=0.05,refresh=0.15,batch=37,iterations=61]", "objective=0.415"),
    Case(RECOVERY, "lsvrg-fw[step=0.05,refresh=0.15,batch=37,iterations=61]", "objective=0.38"),
    Case(LOG_COSH, f"zerosarah-fw[step=0.05,table_weight=0.1,{_SAMPLED}]", "objective=0.24"),
    Case(RECOVERY, "storm-fw[step=0.05,alpha=0.2,batch=37,iterations=61]", "objective=0.47"),
    Case(LOG_COSH, "one-sfw[batch=7,iterations=61]", "objective=0.24"),
    Case(LOG_COSH, "momentum-sfw[batch=7,iterations=61]", "objective=0.24"),
    Case(LOG_COSH, "page-fw-convex[refresh=0.15,batch=7,delay=9,iterations=61]", "objective=0.24"),
    Case(LOG_COSH, "spider-fw-convex[iterations=61]", "objective=0.24"),
    Case(LOG_COSH, "cgs-convex[smoothness=0.3,iterations=23]", "objective=0.23"),
    Case(
        MULTICLASS,
        "ncgs-spider[smoothness=0.1,tolerance=0.01,batch=7,period=5,iterations=23]",
        "objective=0.7",
    ),
    Case(ROBUST, f"page[step=1.0,refresh=0.15,{_SAMPLED}]", "objective=0.003"),
    Case(LOGISTIC, f"prox-page[step=1.0,refresh=0.15,{_SAMPLED}]", "gradient_mapping_sq=1e-6"),
    Case(ROBUST, f"lsvrg[step=1.0,refresh=0.15,{_SAMPLED}]", "objective=0.003"),
    Case(ROBUST, f"zerosarah[step=1.0,table_weight=0.1,{_SAMPLED}]", "objective=0.003"),
    Case(ROBUST, f"mars[step=1.0,alpha=0.5,gamma=0.6,snapshot=11,{_SAMPLED}]", "objective=0.003"),
    Case(ROBUST, "storm[step=1.0,alpha=0.5,floor=1.0,iterations=61]", "objective=0.02"),
)

CASES = {case.name: case for case in _ALL}
"""The cases by the names of their algorithms, which are all algorithms of the catalogue."""


def counted(case: Case) -> dict[str, int]:
    """Return the counts of a case, its iterations, and whether its target was missed."""
    run = case.run()
    missed = int(run.status != "target")
    return {**run.counts.as_dict(), "iterations": run.iterations, "missed": missed}
