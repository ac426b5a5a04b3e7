"""Whatever is handed to the oracles, they answer with what they should, or say a sentence.

Each call has at least one argument of a random wrong or odd form. A crash would end the whole
process. `PFBENCH_FUZZ=1000000` makes so many calls instead of 10 000.
"""

import os

import numpy as np
import pytest

import pfbench as pf
from pfbench.base.counts import Counts
from pfbench.base.errors import InputError
from pfbench.oracles import Ledger, Oracles
from pfbench.points import (
    FactoredMatrix,
    combine,
    copy_or_view,
    distance,
    gap_and_distance,
    infer_format,
    inner,
    keep,
    tilt,
)

CALLS = int(os.environ.get("PFBENCH_FUZZ", "800"))

PROBLEMS = {
    "vectors": pf.problem("nonconvex-logistic", source="synthetic", rows=30, columns=5),
    "robust": pf.problem("robust-regression", source="synthetic", rows=20, columns=4),
    "tasks": pf.problem("multitask-sigmoid"),
    "sensing": pf.problem("matrix-regression", rows=4, columns=3, rank=2),
    "chain": pf.problem("finite-sum-chain"),
    "observed": pf.problem("robust-matrix-recovery", rows=9, columns=7),
}
OBSERVED = PROBLEMS["observed"]
VERTICES = [
    one.lo(one.gradient(one.start()))
    for one in (
        OBSERVED,
        pf.problem("robust-matrix-recovery", rows=8, columns=11),
        PROBLEMS["tasks"],
    )
]
FOREIGN = [pf.problem("robust-matrix-recovery", rows=9, columns=7, seed=4).start()]
FOREIGN += [problem.start() for problem in PROBLEMS.values()]

DTYPES = (np.float64, np.float32, np.int64, np.uint8, np.bool_, np.complex128, ">f8", object)
INDEX_TYPES = (np.int64, np.int32, np.uint16, np.uint64, ">i8", np.float64, np.bool_, object)


def array_like(x, rng):
    """Return an array of a random form: another size, type, order, stride or dimension."""
    x = np.asarray(x if isinstance(x, np.ndarray) else x.values())
    changes = (
        lambda a: a[: int(rng.integers(a.shape[0]))],
        lambda a: a[1:],
        lambda a: a[::-1],
        lambda a: np.repeat(a, 2, axis=0)[::2],
        lambda a: np.concatenate([a, a]),
        lambda a: a.ravel(),
        lambda a: a.T,
        lambda a: np.asfortranarray(a),
        lambda a: a[None],
        lambda a: a[..., None],
        lambda a: a[:0],
        lambda a: np.array(3.0),
        lambda a: a.astype(DTYPES[int(rng.integers(len(DTYPES)))]),
        lambda a: np.full(a.shape, [np.nan, np.inf, 1e300, 1e-320][int(rng.integers(4))]),
        lambda a: np.broadcast_to(a[:1], a.shape),
        lambda a: np.ma.masked_array(a),
    )
    return changes[int(rng.integers(len(changes)))](x)


def anything(x, rng):
    """Return something that is hardly a point or gradient."""
    kind = int(rng.integers(10))
    if kind < 7:
        return array_like(x, rng)
    odd = [None, 3, "x", [1.0], (x, x), {}, *FOREIGN]
    return odd[int(rng.integers(len(odd)))]


def some_sample(n, rng):
    """Return a sample, right or wrong."""
    kind = int(rng.integers(8))
    if kind < 3:
        return rng.integers(n, size=int(rng.integers(1, 5)))
    if kind == 3:
        drawn = rng.integers(-3, n + 3, size=int(rng.integers(0, 5)))
        return drawn.astype(INDEX_TYPES[int(rng.integers(len(INDEX_TYPES)))])
    if kind == 4:
        return np.array([[-1, 2**62, -(2**63), n, 10**9][int(rng.integers(5))]])
    if kind == 5:
        odd = [[0, 1], None, 3, "x", np.zeros((2, 2), dtype=np.int64), np.array(0), [], {}]
        return odd[int(rng.integers(len(odd)))]
    counts = [[1, 1], [0, 0], [2**52, 2**52], [-1, 1], [1], [2**40, 3]][int(rng.integers(6))]
    return pf.Sample(np.array([0, [1, n, -1][int(rng.integers(3))]]), np.array(counts))


def call(ask, problem, verb, x, rng):
    """Ask a verb with arguments of which each is odd with a chance of a half."""

    def point():
        return x if rng.integers(2) else anything(x, rng)

    def direction():
        g = problem.gradient(keep(x))
        return g if rng.integers(2) else anything(g, rng)

    if verb in ("batch", "difference"):
        sample = some_sample(ask.n, rng)
        return getattr(ask, verb)(sample, *(point() for _ in range(1 + (verb == "difference"))))
    if verb in ("hessian", "table"):
        held = getattr(ask, verb)(point())
        inside = {"hessian": ("product", "batch"), "table": ("difference", "replace")}[verb]
        name = inside[int(rng.integers(2))]
        before = () if name == "product" else (some_sample(ask.n, rng),)
        return getattr(held, name)(*before, *(point() for _ in range(1 + (verb == "hessian"))))
    if verb == "lo":
        return ask.lo(direction())
    if verb == "prox":
        return ask.prox(point(), direction(), [0.1, np.nan, -1.0, 1e300][int(rng.integers(4))])

    def vertex():
        return VERTICES[int(rng.integers(len(VERTICES)))] if rng.integers(3) else point()

    def tilted():
        return tilt(direction(), point(), point(), 0.3) if rng.integers(2) else direction()

    if verb in OPERATIONS:
        arguments = {
            "combine": lambda: combine(point(), vertex(), 0.3),
            "descent": lambda: gap_and_distance(tilted(), point(), vertex()),
            "distance": lambda: distance(point(), point()),
            "inner": lambda: inner(direction(), point()),
            "tilt": lambda: tilt(direction(), point(), point(), 0.3),
            "view": lambda: copy_or_view(point()),
        }
        return arguments[verb]()
    return getattr(ask, verb)(point())


VERBS = ("gradient", "batch", "difference", "lo", "value", "prox", "hessian", "table")
OPERATIONS = ("combine", "descent", "distance", "inner", "tilt", "view")


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_every_call_is_answered_as_it_should_be_or_refused_in_a_sentence(name):
    problem = PROBLEMS[name]
    rng = np.random.default_rng(7)
    verbs = [verb for verb in VERBS if verb not in problem.lacks] + list(OPERATIONS)
    form, ledger = infer_format(problem.start()), Ledger()
    ask = Oracles(problem.open(rng), ledger, problem.set.diameter, form)
    x, refused = problem.start(), 0
    for _ in range(CALLS // len(PROBLEMS)):
        verb = verbs[int(rng.integers(len(verbs)))]
        before = ledger.counts()
        try:
            answer = call(ask, problem, verb, x, rng)
        except Exception as error:
            refused += 1
            told(error)
            if isinstance(error, InputError) and "is queried" in str(error):
                assert ledger.counts() in (before, after_a_start(before, verb, problem.n))
            continue
        if verb in ("gradient", "batch", "difference"):
            assert form.is_gradient(answer)
        elif verb == "lo":
            assert form.is_vertex(answer)
    assert refused > CALLS // len(PROBLEMS) // 5
    if isinstance(x, FactoredMatrix):
        assert not x.values().any()


def told(error):
    """See that an error is a sentence, and none of numba's pages."""
    words = str(error)
    assert "\n" not in words.strip(), words
    assert len(words) < 400


def after_a_start(before, verb, n):
    """Return the counts after a Hessian or a table was made, and a call of it refused."""
    made = {"hessian": {"sso": before.sso + n}, "table": {"sfo": before.sfo + n}}.get(verb, {})
    return Counts(**(before.as_dict() | made))
