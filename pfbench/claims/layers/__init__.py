"""Points with named layers: norms of layers, smoothness in them, and steps of all layers at once.

The statements and their constants are pfbench's.
"""

from pfbench.verification.paper_tables import read_paper

PAPER = read_paper(
    __name__,
    "Norms of several layers, and a network of two",
    "norms_of_layers joint_smoothness steps_of_layers",
)
"""Claims about layers."""
