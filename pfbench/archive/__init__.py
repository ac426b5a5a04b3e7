"""Archives: a sweep, a comparison or claims in one file, which can be checked."""
