"""Points with named layers: norms of layers, smoothness in them, and steps of all layers at once.

The statements and their constants are pfbench's.
"""

from pfbench.verification.paper_tables import read_listed_paper

PAPER = read_listed_paper(__name__)
