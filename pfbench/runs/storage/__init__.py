"""The store, the keys of what is stored, exports."""
