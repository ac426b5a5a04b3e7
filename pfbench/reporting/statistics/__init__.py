"""Statistics of runs: curves over seeds, calls to a target, tests between methods.

No number of a method depends on the other methods that are shown. `curves` has medians over seeds,
`prices` and `runtimes` the calls to a target and what is expected of them, `distributions` shares
of targets, `bootstrap` the intervals of both, `limits` the runs at equal counts, `significance` the
test that says which differences are more than luck.
"""
