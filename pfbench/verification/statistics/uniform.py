"""Whether something is drawn uniformly: an exact test against every other distribution."""

import math
from collections.abc import Sequence

import numpy as np
import scipy

from pfbench.base.checks import integer
from pfbench.base.errors import InputError
from pfbench.verification.statistics.decisions import Decision, doubtful, rejects


def decide_uniform(drawn: Sequence[int], options: int) -> Decision:
    """Decide whether independent draws are uniform among 0 .. options-1.

    The e-value is the likelihood of the draws, averaged over all distributions on the options with
    equal weight (Dirichlet's with parameters 1), over that of the uniform one: with c_i draws of
    option i, N in all and T options it is T^N (T-1)! prod c_i!/(N+T-1)!. Its mean is 1 if the draws
    are uniform, so that it exceeds 1/level with probability at most the level (Markov), for any N;
    a chi-square test keeps so small a level only for many draws.

    Parameters
    ----------
    drawn
        One a run; a number that is not among the options rejects at once.
    options
        Number of options T, at least 1.

    Raises
    ------
    InputError
        If there is no draw.
    """
    options, found = integer("options", options, least=1), np.asarray(drawn, dtype=np.int64)
    if found.ndim != 1 or found.size == 0:
        raise InputError("drawn must be a list of at least one whole number.")
    outside = int(np.count_nonzero((found < 0) | (found >= options)))
    log_e_value = math.inf
    counts = np.bincount(found[(found >= 0) & (found < options)], minlength=options)
    if not outside:
        log_e_value = float(
            found.size * math.log(options)
            + scipy.special.gammaln(counts + 1.0).sum()
            + scipy.special.gammaln(options)
            - scipy.special.gammaln(found.size + options)
        )
    p_value = min(1.0, math.exp(-log_e_value))
    measured = {
        "runs": float(found.size),
        "options": float(options),
        "outside": float(outside),
        "least share": float(counts.min() / found.size),
        "largest share": float(counts.max() / found.size),
        "log_e_value": log_e_value,
    }
    if outside:
        reason = f"{outside} of {found.size} draws are none of the {options} options."
        return Decision("violated", reason, measured, p_value)
    if rejects(log_e_value):
        return Decision("violated", "The draws are not uniform.", measured, p_value)
    if doubtful(p_value):
        return Decision("inconclusive", "The draws are hardly uniform.", measured, p_value)
    return Decision("holds", "Nothing speaks against uniform draws.", measured, p_value)
