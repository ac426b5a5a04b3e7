"""What is kept: the store, its index, the keys of what is stored, exports."""
