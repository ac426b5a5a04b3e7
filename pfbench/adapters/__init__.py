"""Adapters for external tools: plain functions as problems, and other libraries' solvers.

`pfbench.adapters` is public. Its names are loaded on first use. A missing library raises an error
only when a function that needs it is called.
"""

from typing import TYPE_CHECKING

from pfbench.base.lazy import lazy_names

if TYPE_CHECKING:
    from pfbench.adapters.black_box import BlackBox as BlackBox
    from pfbench.adapters.black_box import FlatOracles as FlatOracles
    from pfbench.adapters.functions import FunctionSet as FunctionSet
    from pfbench.adapters.functions import from_functions as from_functions
    from pfbench.adapters.solver_methods import CoptFrankWolfe as CoptFrankWolfe
    from pfbench.adapters.solver_methods import PartialFit as PartialFit
    from pfbench.adapters.solver_methods import ScipyMinimize as ScipyMinimize
    from pfbench.adapters.solver_methods import TorchOptimizer as TorchOptimizer
    from pfbench.adapters.torch_losses import from_loader as from_loader
    from pfbench.adapters.torch_losses import from_module as from_module
    from pfbench.base.function_methods import method_class as method_class

_HOMES, __all__, __getattr__, __dir__ = lazy_names(__name__)
