"""Search for counterexamples to stated bounds: find, shrink and confirm them, and write scripts."""
