"""Compiled loops that several rooms share; they know arrays and numbers, no problem and no set."""
