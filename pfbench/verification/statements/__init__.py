"""The words in which a theorem states its check: bound, counts, rate, error_law, identity.

Each returns the check of a `Claim`: an object that is called with a `Trial`, makes the runs on the
claim's instances, and decides. What is claimed is a function of the constants of a problem and of
the parameters of the method; both are those of the claim, whatever the subject does.
"""
