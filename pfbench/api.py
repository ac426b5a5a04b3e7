"""Public interface of pfbench: every name of ``import pfbench as pf``, by purpose.

Each name is defined in the module that its import names. `pfbench` itself loads the names on first
use, so that importing it is quick; importing this module loads all of them.

Runs
    `problem` and `algorithm` select a problem and an algorithm. `solve` runs the algorithm on the
    problem, and returns a `Run`. `Budget` and `Stop` end a run; `Counts` has the numbers of oracle
    calls of a run. `plot` draws several runs.
Comparisons
    `compare` compares a method with the built-in methods, `report` writes the report of a sweep,
    and `list_runs` returns the runs in a store.
Verdicts
    `verify` tests claims of the literature, and `falsify` searches for a counterexample. `check`
    tests a user-defined algorithm, estimator, set, problem or penalty. `fit_rate` estimates the
    exponent of a convergence rate.
Writing an algorithm
    `Algorithm` is the base class of algorithms, which yield a `State` after each update. `combine`,
    `keep`, `tilt`, `inner` and `distance` work on points of every kind. `Sample` is a batch with
    multiplicities.
Modules
    `adapters` creates problems and algorithms from functions, files and other libraries. `claims`
    has the catalogue of claims.
Errors
    `PfbenchError` is the base of all errors that pfbench raises on purpose.
"""

# isort: off
# Runs
from pfbench.adapters.solve_interface import solve as solve
from pfbench.algorithms import algorithm as algorithm
from pfbench.base.counts import Budget as Budget
from pfbench.base.counts import Counts as Counts
from pfbench.problems import problem as problem
from pfbench.runs.loop.run import Run as Run
from pfbench.runs.loop.run import plot as plot
from pfbench.runs.loop.run import Stop as Stop

# Comparisons
from pfbench.cli.python_interface import compare as compare
from pfbench.cli.python_interface import list_runs as list_runs
from pfbench.cli.python_interface import report as report

# Verdicts
from pfbench.checking import check as check
from pfbench.claims.catalogue import verify as verify
from pfbench.cli.python_interface import falsify as falsify
from pfbench.verification.fitting import fit_rate as fit_rate

# Writing an algorithm
from pfbench.algorithms import Algorithm as Algorithm
from pfbench.base.sample import Sample as Sample
from pfbench.base.state import State as State
from pfbench.points import combine as combine
from pfbench.points import distance as distance
from pfbench.points import inner as inner
from pfbench.points import keep as keep
from pfbench.points import tilt as tilt

# Modules
from pfbench import adapters as adapters
from pfbench import claims as claims

# Errors
from pfbench.base.errors import PfbenchError as PfbenchError
