"""Test problems with exact constants, on which bounds are nearly attained, and enumerable draws."""
