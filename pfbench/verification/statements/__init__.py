"""Functions that return the check of a claim: `bound`, `counts`, `rate`, `error_law` and others.

A check is called with a `Trial`, runs the method on the claim's instances, and decides. The claimed
value is a function of the constants of a problem and of the parameters of the method. These
constants and parameters are those that the claim states, even if the method under test has other
parameters.
"""
