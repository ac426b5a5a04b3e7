"""Bugs of real optimisers of 2024 to 2026, planted back into right ones, and the check of each."""

import inspect
import tomllib
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from pfbench.testing import (
    FiniteSum,
    adamw,
    covariant,
    descends,
    lmo,
    muon,
    no_dead_parameter,
    same_law,
    stepper,
    unbiased,
)

SOURCE = Path(inspect.getsourcefile(adamw))

POLAR = [
    (8.28721201814563, -23.595886519098837, 17.300387312530933),
    (4.107059111542203, -2.9478499167379106, 0.5448431082926601),
    (3.9486908534822946, -2.908902115962949, 0.5518191394370137),
    (3.3184196573706015, -2.488488024314874, 0.51004894012372),
    (2.300652019954817, -1.6689039845747493, 0.4188073119525673),
]
"""The first five coefficients of Polar Express, without safety factor; [lo, hi] below."""

# --- the checks: what a maintainer writes ---------------------------------------------------------


def every_parameter_of_muon(f, dtype):
    make = stepper(f.muon, shape=(4, 6), dtype=dtype)
    no_dead_parameter(make, lr=0.1, weight_decay=0.5, momentum=0.9, nesterov=[True, False])


def steps_of_adamw(f, dtype):
    make, reference = (stepper(run, shape=(4, 6), dtype=dtype) for run in (f.adamw, adamw))
    same_law(make, reference, lr=0.1, weight_decay=0.5, betas=(0.9, 0.999), eps=1.0)


def steps_of_muon(f, dtype):
    make, reference = (stepper(run, shape=(4, 6), dtype=dtype) for run in (f.muon, muon))
    same_law(make, reference, lr=0.1, weight_decay=0.5, momentum=0.9, nesterov=True)


def scale_of_muon(f, dtype):
    make = stepper(f.muon, shape=(4, 6), dtype=dtype)
    covariant(make, "scale of f", lr=0.1, momentum=0.9, nesterov=False)


def scale_of_adamw(f, dtype):
    covariant(stepper(f.adamw, dtype=dtype), "scale of f", scales={"eps": 1}, lr=0.1, eps=1.0)


def order_of_layers(f, dtype):
    covariant(stepper(f.adamw, shape=[(4,), (4,)], dtype=dtype), "order of layers", lr=0.1)


def idle_layer(f, dtype):
    covariant(stepper(f.adamw, dtype=dtype), "idle layer", lr=0.1, weight_decay=0.5)


def scale_of_layers(f, dtype):
    make = stepper(f.muon, shape=[(32, 2, 2, 2), (8, 2), (2, 8)], dtype=dtype)
    descends(
        make,
        lmo(0.68, 1.14, 0.1, momentum=0.9, nesterov=True, scale=lambda m, n: max(1, m / n) ** 0.5),
        lr=0.1,
        momentum=0.9,
    )


def directions(f, dtype):
    def polar(x0, grads, **hyper):
        return f.muon(x0, grads, coefficients=POLAR, **hyper)

    make = stepper(polar, shape=(4, 6), dtype=dtype, kind="function")
    descends(make, lmo(0.8764, 1.1236, 0.1, momentum=0.9, nesterov=True), lr=0.1, momentum=0.9)


def weights_of_saga(f, dtype):
    unbiased(f.saga, FiniteSum(weights=[1, 1, 1, 5]))


def decay_in_the_type_of_the_weights(f, dtype):
    no_dead_parameter(stepper(f.AdamW, dtype=dtype), lr=1e-2, weight_decay=0.1)


# --- the bugs: what stands in place of what -------------------------------------------------------

KNOWN = tomllib.loads(SOURCE.with_name("known_bugs.toml").read_text())

PLANTED = {
    text: (KNOWN[text]["edits"], check)
    for text, check in (
        ("weight decay has no effect on the steps", every_parameter_of_muon),
        ("weight decay acts on the new point, not on x_t", steps_of_adamw),
        ("momentum has no effect unless nesterov is set", every_parameter_of_muon),
        ("nesterov is ignored", every_parameter_of_muon),
        ("the momentum buffer is normalised in place", scale_of_muon),
        ("eps is inside the root", scale_of_adamw),
        ("eps is scaled by the bias correction", steps_of_adamw),
        ("the bias correction is that of step t+1", steps_of_adamw),
        ("steps are not counted: the bias correction stays that of step 1", steps_of_adamw),
        ("the step counter grows with each tensor", order_of_layers),
        ("Nesterov's form takes M + beta g, not g + beta M", steps_of_muon),
        ("each step takes the gradient of the step before", steps_of_adamw),
        (
            "the buffer is an average, and Nesterov's form takes the gradient unscaled",
            steps_of_muon,
        ),
    )
} | {
    "W2 group says decay, step uses 0": (
        {"x * (1 - lr * weight_decay)": "x * (1 - lr * 0.0)"},
        every_parameter_of_muon,
    ),
    "W12 scale from height over width of a kernel": (
        {"step = scale(*n.shape)": "step = scale(*x.shape[-2:])"},
        scale_of_layers,
    ),
    "W13 scale missing": ({"scale(*n.shape) * ": ""}, scale_of_layers),
    "W13 scale transposed": ({"scale(*n.shape)": "scale(*n.shape[::-1])"}, scale_of_layers),
    "W13 scale applied twice": ({"scale(*n.shape)": "scale(*n.shape) ** 2"}, scale_of_layers),
    "W14 list reversed": ({"in coefficients:": "in coefficients[::-1]:"}, directions),
    "W14 list shortened": ({"in coefficients:": "in coefficients[:-1]:"}, directions),
    "W14 another list": ({"in coefficients:": "in JORDAN:"}, directions),
    "W16 decay without a gradient": (
        {"p if q is None else": "0.95 * p if q is None else"},
        idle_layer,
    ),
    "W18 no inverse probability": ({"/ (total * p[i])": ""}, weights_of_saga),
    "W18 weighted twice": ({"ask.weights[i] / (": "ask.weights[i] ** 2 / ("}, weights_of_saga),
    "W18 mean of the table without weights": (
        {"ask.weights @ table / total": "table.mean(axis=0)"},
        weights_of_saga,
    ),
}

SAGA = '''
def saga(ask, rng):
    """SAGA with weights, rows drawn by weight; the first call fills the table at its point."""
    table, total = None, ask.weights.sum()
    p = ask.weights / total

    def estimate(x):
        nonlocal table
        if table is None:
            table = np.array([ask.component(i, x) for i in range(ask.n)])
        i = rng.choice(ask.n, p=p)
        new = ask.component(i, x)
        g = ask.weights[i] / (total * p[i]) * (new - table[i]) + ask.weights @ table / total
        table[i] = new
        return g

    return estimate
'''


def implementation(edits):
    """Return the right optimisers, with texts of their source replaced."""
    source = SOURCE.read_text() + SAGA
    for old, new in edits.items():
        assert old in source, old
        source = source.replace(old, new)
    module = {"__name__": "planted", "np": np}
    exec(compile(source, "planted.py", "exec"), module)
    return SimpleNamespace(**module)
