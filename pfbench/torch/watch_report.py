"""Report of a watched loop: findings, counts, measured constants, figures."""

import html
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pfbench.torch.examination import Finding

if TYPE_CHECKING:
    import pandas as pd

_STYLE = "body{max-width:60rem;margin:1rem auto}pre{white-space:pre-wrap}svg{max-width:100%}"

_CLOSING = (
    "A bound that holds with measured constants is confirmed on this run; if it fails, nothing "
    "follows. A larger measured L or rho refutes a stated one; no run confirms it. One run neither "
    "confirms nor refutes a bound in expectation. This report says nothing about generalisation, "
    "time, or which optimiser is better."
)


@dataclass(frozen=True)
class WatchReport:
    """Report of a watched training loop; ``str(report)`` is its text.

    Attributes
    ----------
    findings
        Bugs first, then notes.
    text
        Findings, counts and measured constants.
    table
        The measurements, as a DataFrame.
    """

    findings: tuple[Finding, ...]
    text: str
    table: "pd.DataFrame"

    @classmethod
    def build(cls, watch: Any, findings: Sequence[Finding]) -> "WatchReport":
        """Build the report of a loop from the counts and measurements so far."""
        counts = watch.counts
        unique = dict.fromkeys([*findings, *_constant_findings(watch)])
        ordered = sorted(unique, key=lambda finding: not finding.is_bug)
        constants = [f"  {name:8} {value:12} {text}" for name, value, text in _constant_rows(watch)]
        lines = [
            f"{type(watch.optimizer).__name__}: {counts.steps} steps, {watch.measurement_count} "
            f"measured in the {watch.norm.name} norm, {watch.overhead:.1%} of the loop's time",
            "findings",
            *(f"  {'!' if finding.is_bug else '-'} {finding.text}" for finding in ordered),
            "counts",
            *(f"  {f.name:18} {_number(getattr(counts, f.name))}" for f in fields(counts)),
            *(["measured", *constants] if constants else []),
            _CLOSING,
        ]
        return cls(tuple(ordered), "\n".join(lines), watch.table)

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text)}</pre>{self._figure()}"

    def save(self, path: str | Path) -> None:
        """Write the report to `path` as a self-contained HTML page.

        Parameters
        ----------
        path
            The file; an existing one is replaced.
        """
        head = f'<meta charset="utf-8"><title>Watch</title><style>{_STYLE}</style>'
        page = f'<!DOCTYPE html><html lang="en"><head>{head}</head><body>{self._repr_html_()}'
        Path(path).write_text(f"{page}</body></html>\n", encoding="utf-8")

    def _figure(self) -> str:
        """Return the panels of the report as SVG, or a sentence if matplotlib is not installed."""
        columns = [c for c in _PANELS if c in self.table and self.table[c].notna().any()]
        if not find_spec("matplotlib"):
            return '<p>No figures: pip install "pfbench[report]".</p>'
        if not columns:
            return ""
        from pfbench.reporting.svg import DeferredDrawing, render

        drawing = DeferredDrawing("Measurements of the steps", partial(self._draw, columns))
        (image,) = render(drawing, "svg")
        return image.decode("utf-8").partition("?>")[2].partition('dtd">')[2]

    def _draw(self, columns: Sequence[str]) -> Any:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6.75, 0.4 + 1.7 * len(columns)), layout="constrained")
        grid = figure.subplots(len(columns), 1, sharex=True, squeeze=False)
        for axes, column in zip(grid[:, 0], columns, strict=True):
            for k, (layer, rows) in enumerate(self.table.groupby("layer", sort=False)):
                rows = rows[rows[column].notna()]
                style = {"color": f"C{k % 10}", "marker": ".", "linewidth": 0.9}
                axes.plot(rows["step"], rows[column], label=layer, **style)
            axes.set_ylabel(_PANELS[column])
            axes.grid(axis="y")
        grid[-1, 0].set_xlabel("step; one line for each layer, and for all")
        if len(lines := grid[0, 0].get_lines()) <= _MAX_NAMED_LAYERS:
            figure.legend(handles=lines, loc="outside right upper", frameon=False)
        return figure


_MAX_NAMED_LAYERS = 12
"""Largest number of lines that the legend of the figure names."""

_PANELS = MappingProxyType(
    {"step_relative": "|d|/|x|", "lo": "lo", "hi": "hi", "c": "c", "L": "L of the batch"}
)


_MEANINGS = MappingProxyType(
    {
        "L": "lower bound of the smoothness of one sample's loss, largest on the path",
        "L_ms": "lower bound, root mean square over fresh samples",
        "rho": "lower bound of the Lipschitz constant of the Hessian of a batch",
        "sigma2": "estimate on the path of the variance of one sample's gradient",
    }
)
"""Meanings of the measured constants."""


def _constant_rows(watch: Any) -> Iterator[tuple[str, str, str]]:
    """Yield the name, value and meaning of each measured constant, with the one that is stated."""
    replay, values, specification = watch._replay, watch.constants, watch.specification
    if replay and replay.curvatures:
        spread = f"{statistics.median(replay.curvatures):.4g} to {max(replay.curvatures):.4g}"
        text = (
            "median to maximum of the L that the descent inequality requires on a step's own "
            "batch; only a diagnosis, as it does not telescope"
        )
        yield "c", spread, text
    if replay and replay.below_rounding:
        yield "c", "below rounding", f"on {replay.below_rounding} steps: use double precision"
    for name, meaning in _MEANINGS.items():
        if name in values:
            owner = "one sample's loss" if replay.is_mean else "a batch's loss"
            remark = f"; stated: {specification[name]:g}" if name in specification else ""
            yield name, f"{values[name]:.4g}", meaning.replace("one sample's loss", owner) + remark


def _constant_findings(watch: Any) -> Iterator[Finding]:
    """Yield a finding for each stated constant or assumption that the measurements refute."""
    values, specification, replay = watch.constants, watch.specification, watch._replay
    matches = replay.gradient_matches if replay else []
    if differing := [pair for pair in matches if pair[0] < 0.99 or abs(pair[1] - 1.0) > 0.02]:
        text = (
            f"{len(differing)} of {len(matches)} measured steps do not take the gradient of their "
            "batch as `replay` evaluates it, but one with cosine {:.2g} and {:.2g} times the length"
            ": another batch, or gradients that are accumulated, not cleared, clipped or scaled"
        )
        yield Finding(text.format(*min(differing)), is_bug=False)
    if replay and not replay.is_mean:
        text = (
            "unmet assumption: the loss of a batch is not the mean of its halves (dropout, which "
            "draws other masks for them, batch normalisation, or a sum), so constants of one "
            "sample are not measured"
        )
        yield Finding(text, is_bug=False)
        return
    for name in ("L", "rho"):
        if name in values and values[name] > specification.get(name, float("inf")):
            yield Finding(
                f"stated {name}={specification[name]:g} is refuted: at least {values[name]:.4g}"
            )
    limit = specification.get("step_limit")
    if limit is not None and values.get("L"):
        rates = [group.get("lr") for group in watch.optimizer.param_groups]
        largest = max((float(lr) for lr in rates if lr is not None), default=0.0)
        if largest > limit / values["L"]:
            text = (
                f"unmet assumption: lr={largest:g} exceeds {limit:g}/L, which is at most "
                f"{limit / values['L']:.4g}, for L of one sample"
            )
            yield Finding(text)


def _number(value: int | None) -> str:
    return "not counted from the start" if value is None else f"{value:,}"
