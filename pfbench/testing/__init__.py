"""Checks of optimisers and solvers, for the test suites of other projects.

`pfbench.testing` is public. Each check raises AssertionError with at most five lines. A *stepper*
takes gradients and returns iterates; a *solver* calls functions itself. Importing the package needs
only NumPy.
"""

from typing import TYPE_CHECKING

from pfbench.base.lazy import lazy_names

if TYPE_CHECKING:
    from pfbench.testing.covariance import covariant as covariant
    from pfbench.testing.dead_parameters import no_dead_parameter as no_dead_parameter
    from pfbench.testing.inequalities import descends as descends
    from pfbench.testing.inequalities import gap_recursion as gap_recursion
    from pfbench.testing.inequalities import lmo as lmo
    from pfbench.testing.inequalities import smooth as smooth
    from pfbench.testing.laws import FiniteSum as FiniteSum
    from pfbench.testing.laws import same_law as same_law
    from pfbench.testing.laws import unbiased as unbiased
    from pfbench.testing.published_optimizers import adamw as adamw
    from pfbench.testing.published_optimizers import muon as muon
    from pfbench.testing.published_optimizers import sgd as sgd
    from pfbench.testing.rates_and_bounds import bound as bound
    from pfbench.testing.rates_and_bounds import rate as rate
    from pfbench.testing.steppers import stepper as stepper

_HOMES, __all__, __getattr__, __dir__ = lazy_names(__name__)
