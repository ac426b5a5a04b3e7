"""Results of a comparison, as sentences and tables."""
