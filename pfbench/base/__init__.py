"""The words that every other room shares: errors, counts, budgets, constants, states, protocols."""
