"""Frank-Wolfe with inexact gradients.

The abstract and the first page of the paper were read. The bound, its constants and its proof are
pfbench's, and so is what an error of delta means.
"""

from pfbench.verification.paper_tables import read_paper

PAPER = read_paper(
    __name__,
    "Hu: Robustness of the Frank-Wolfe Method under Inexact Oracles and the Cost of Linear "
    "Minimization, 2026",
    "inexact_gradients",
)
"""Claims about the paper."""
