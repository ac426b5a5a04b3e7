"""What a source says of its method, held to what a run tells: estimates, steps, output, counts.

A `Method` is told by its source's recursion as a referee: a generator that goes through the steps
that a run told and says for each where its estimate is formed, from which batch, and where the step
leads. The checks here compare a run with that; they know no method.
"""

from pfbench.verification.laws.at_size import runs_as_its_source
from pfbench.verification.laws.counts import keeps_its_counts
from pfbench.verification.laws.estimates import estimates_as_its_source
from pfbench.verification.laws.method import Formed, Method, Place, Setting, Told, Wanted, setting
from pfbench.verification.laws.schedules import keeps_its_schedule
from pfbench.verification.laws.steps import steps_as_its_source

__all__ = [
    "Formed",
    "Method",
    "Place",
    "Setting",
    "Told",
    "Wanted",
    "estimates_as_its_source",
    "keeps_its_counts",
    "keeps_its_schedule",
    "runs_as_its_source",
    "setting",
    "steps_as_its_source",
]
