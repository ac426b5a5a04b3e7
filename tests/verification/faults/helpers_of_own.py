"""What the user's method is made of, in another file."""


def lmo_step(ask, x, g, step):
    """Return a Frank-Wolfe step."""
    return x + step * (ask.lo(g) - x)
