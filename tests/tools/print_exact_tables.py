"""Print a report whose numbers are computed exactly, without runs.

python tests/tools/print_exact_tables.py orthogonalisers > reports/orthogonalisers.md
python tests/tools/print_exact_tables.py sample-weights > reports/sample-weights.md
"""

import sys

import numpy as np

from pfbench.algorithms import ALGORITHMS
from pfbench.claims.defazio2014 import saga_with_weights
from pfbench.claims.schmidt2017 import theorem1 as sag
from pfbench.sets.orthogonalisers import PRESETS, certify_interval, map_singular_values
from pfbench.verification.statements.table_steps import (
    probabilities_and_matrices,
    second_moment_map,
    spectral_radius,
)
from pfbench.verification.subject import Subject
from pfbench.verification.trial import Trial

WEIGHTS = (1.0, 3.0, 5.0, 10.0, 50.0)


def print_table(head, rows):
    """Print a table of Markdown."""
    for row in (head, ["---"] + ["--:"] * (len(head) - 1), *rows):
        print(f"| {' | '.join(row)} |")


def orthogonalisers():
    """Print the certified intervals of the orthogonalisers."""
    print(
        "# Orthogonalisers of Muon: certified intervals\n\n"
        "Muon replaces its momentum M by an approximation O of its polar factor. The table shows "
        "to which interval each preset maps the singular values of M/|M|_F that are at least 0.001 "
        "or 0.01. The ends are exact images of intervals by critical points "
        "(`certify_interval`), and the claim `amsel2025-intervals` tests them on matrices. "
        "`lo` of a step is at least the least value of phi(s)/s in [0, 1], times |M|_F/|M|_*, and "
        "phi'(0) is the factor of small singular values.\n"
    )
    grid = np.append(np.geomspace(1e-9, 1.0, 400_001), 1.0)
    rows = []
    for name, steps in PRESETS.items():
        if not steps:
            continue
        ends = [certify_interval(steps, low) for low in (1e-3, 1e-2)]
        least = float((map_singular_values(steps, grid) / grid).min())
        slope = float(np.prod([a for a, _, _ in steps]))
        cells = [f"{low:.4f} to {high:.4f}" for low, high in ends]
        rows.append([f"`{name}`", str(len(steps)), *cells, f"{least:.4f}", f"{slope:.4g}"])
    print_table(["preset", "steps", "from 0.001", "from 0.01", "inf phi(s)/s", "phi'(0)"], rows)


def radius(claim, problem, step):
    """Return the mean-square radius of a step of the claim's method on weighted rows."""
    trial = Trial(claim, Subject(ALGORITHMS[claim.algorithm]))
    return spectral_radius(second_moment_map(*probabilities_and_matrices(trial, problem, step)))


def sample_weights():
    """Print the mean-square radii of SAGA and SAG with weights."""
    print(
        "# SAGA and SAG with sample weights: which step converges\n\n"
        "Eight rows of curvature 1, one of which has the weight w, and F the weighted mean. On "
        "quadratics, a step is a random linear map of the point and the table. The number is the "
        "spectral radius of the map of mean squares, by enumeration of all draws: below 1 the mean "
        "square converges from every point and table, above 1 it diverges. L is the largest "
        "smoothness constant of a row: with its weight, or without. SAGA draws two components a "
        "step, as `saga` does.\n"
    )
    rows = []
    for name, claim, factor in (("saga", saga_with_weights.HEAVY, 2.0), ("sag", sag.RADIUS, 16.0)):
        for label in ("with weights", "without"):
            cells = []
            for weight in WEIGHTS:
                problem = saga_with_weights.make_first_row(8, 1.0, weight)
                L = problem.component_smoothness().max()
                if label == "without":
                    L = (problem.curvatures / problem.weights.mean()).max()
                cells.append(f"{radius(claim, problem, 1.0 / (factor * L)):.3f}")
            rows.append([f"`{name}`, 1/({factor:.0f} L), L {label}", *cells])
    print_table(["step", *(f"w = {weight:.0f}" for weight in WEIGHTS)], rows)


REPORTS = {"orthogonalisers": orthogonalisers, "sample-weights": sample_weights}

if __name__ == "__main__":
    REPORTS[sys.argv[1]]()
