"""Line search of SciPy, under the name by which a method calls it."""

import scipy


def search(value, bounds):
    return scipy.optimize.minimize_scalar(value, bounds=bounds)
