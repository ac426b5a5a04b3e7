"""Test problems with exact constants, on which bounds are nearly attained; enumerable draws."""
