"""Search for counterexamples to stated bounds: search, shrinking, confirmation, scripts."""
