"""Archives: a sweep, a comparison or claims in one file that others can check."""
