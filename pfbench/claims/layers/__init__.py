"""Points with named layers: norms of layers, smoothness in them, and steps of all layers at once.

The statements and their constants are pfbench's.
"""

from pfbench.claims.layers import descent, joint_smoothness, layer_norms
from pfbench.verification.paper_tables import read_paper

PAPER = read_paper(
    "layers",
    "Norms of several layers, and a network of two",
    (layer_norms, joint_smoothness, descent),
)
"""Claims about layers."""
