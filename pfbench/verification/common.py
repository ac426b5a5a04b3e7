"""Decisions that several papers need."""

from collections.abc import Mapping

from pfbench.verification.statistics import Decision
from pfbench.verification.trial import Trial


def equal(expected: Mapping[str, float], found: Mapping[str, float]) -> Decision:
    """Decide an exact statement: every number is the expected one."""
    wrong = [name for name in expected if found[name] != expected[name]]
    measured = {name: float(found[name]) for name in expected}
    if wrong:
        name = wrong[0]
        reason = f"{name} is {found[name]:g}, not {expected[name]:g}."
        return Decision("violated", reason, measured, None)
    return Decision("holds", "Every number is exact.", measured, None)


def drawn_uniformly(trial: Trial) -> Decision:
    """See that the output is drawn uniformly, as the theorem's is."""
    declared = trial.make(batch=2, period=2, iterations=2, step=0.1).output
    if declared == "uniform":
        return Decision("holds", "The output is drawn uniformly.", {}, None)
    words = f"It declares output={declared}, where the theorem draws an iterate uniformly."
    return Decision("violated", words, {}, None)
