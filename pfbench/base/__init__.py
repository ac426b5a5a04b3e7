"""The words that all other rooms share: arrays, errors, counts, budgets, constants, states."""
