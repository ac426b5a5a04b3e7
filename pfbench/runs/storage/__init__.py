"""Store of results, keys of stored results, and exports."""
