"""Statistics of runs: curves over seeds, calls to a target, tests between methods.

No number of a method depends on the other displayed methods. `seed_curves` has medians over seeds,
`cost` and `runtimes` the calls to a target and their expected number, `distributions` shares of
reached targets, and `bootstrap` the intervals of both. `equal_counts` truncates runs, and
`significance` tests which differences are significant.
"""
