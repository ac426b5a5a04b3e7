"""Axes of figures: labels of the columns of a trace, and plots of several runs."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.counts import OracleKind
from pfbench.base.errors import InputError
from pfbench.base.names import brief_repr, unknown_name_error

if TYPE_CHECKING:
    from matplotlib.axes import Axes

AXES: Mapping[str, str] = {
    **{kind.value: kind.label for kind in (OracleKind.SFO, OracleKind.LO)},  # the usual ones
    **{kind.value: kind.label for kind in (OracleKind.SSO, OracleKind.HVP, OracleKind.PO)},
    **{kind.value: kind.label for kind in OracleKind},
    "seconds": "seconds",
}
"""Label of each possible x-axis, by trace column."""

MEASURES: Mapping[str, str] = {
    "objective": "Objective Ψ(x)",
    "value": "Function value f(x)",
    "suboptimality": "Suboptimality Ψ(x) − least known",
    "fw_gap": "Frank-Wolfe gap V(x)",
    "gradient_mapping_sq": "Squared gradient mapping |G(x)|²",
    "estimator_error": "Estimator error |g − ∇f(x)|",
    "dual_norm": "Dual norm of the gradient |∇f(x)|∗",
    "lmo_products": "Products of matrices in a linear minimisation",
    "coin": "Coin (1: heads, a full gradient)",
    "rmse_truth": "RMSE to the underlying matrix",
    "rmse_heldout": "RMSE on held-out entries",
}
"""Label of each possible y-axis; other measures are labelled by their name."""


def measure_label(name: str) -> str:
    """Return the label of a measure in figures and tables, with its parameters if it has any."""
    measure, bracket, text = name.partition("[")
    message = f" at λ = {text.removeprefix('lam=').rstrip(']')}" if bracket else ""
    return f"{MEASURES[measure]}{message}" if measure in MEASURES else name


def draw_measure(
    curves: Sequence[Mapping[str, Any]],
    measure: str,
    against: str,
    ax: "Axes | None" = None,
    title: str = "",
) -> "Axes":
    """Plot a measure of several runs in one figure, with a shaded band if it has two bounds.

    Parameters
    ----------
    curves
        The columns of each trace by name, and its ``label``.
    ax
        Axes to draw in; by default new ones.

    Raises
    ------
    InputError
        If `ax` is not an axes object, or matplotlib is not installed.
    """
    if ax is not None and not hasattr(ax, "fill_between"):
        raise InputError(f"ax must be matplotlib's axes, not {brief_repr(ax)}.")
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise InputError('plot needs matplotlib: pip install "pfbench[report]".') from error
    if ax is None:
        _, ax = pyplot.subplots(layout="constrained")
    for curve in curves:
        calls, upper = _drawable_column(curve[against]), _drawable_column(curve[measure])
        (line,) = ax.plot(calls, upper, label=curve["label"])
        if f"{measure}_lower" in curve:
            lower = _drawable_column(curve[f"{measure}_lower"])
            ax.fill_between(calls, lower, upper, color=line.get_color(), alpha=0.3)
            upper = np.concatenate([upper, lower])
        if (upper <= 0.0).any():
            ax.set_yscale("linear")
        elif len(ax.lines) == 1:
            ax.set_yscale("log")
    ax.set(xlabel=AXES.get(against, against), ylabel=measure_label(measure))
    ax.set_title(title, fontsize="small", wrap=True)
    # Below the axes: inside it would cover a curve.
    ax.legend(loc="upper left", bbox_to_anchor=(0.0, -0.13), fontsize="small", frameon=False)
    return ax


def _drawable_column(column: Sequence[float | None]) -> Floats:
    """Return a trace column with NaN in place of None and of infinite values.

    Other values are clipped to +-1e250, so that an axis with a margin does not overflow.
    """
    values = np.array(column, dtype=np.float64)
    return np.where(np.isfinite(values), values.clip(-1e250, 1e250), np.nan)


def check_column_exists(kind: str, name: Any, existing: Sequence[str]) -> str:
    """Return the name of a trace column; raise if the trace has no column of this name."""
    if not isinstance(name, str) or name not in existing:
        raise unknown_name_error(f"{kind} of the trace", name, existing)
    return name
