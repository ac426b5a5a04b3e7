"""PyTorch's losses against formulas, and its optimisers against their own runs, bit for bit."""

import numpy as np
import pytest
from helpers import followed

import pfbench as pf
from pfbench.adapters import TorchOptimizer, from_module
from pfbench.adapters.black_box import import_optional_library
from pfbench.base.errors import InputError
from pfbench.base.sample import Sample
from pfbench.base.selectors import list_user_code_names
from pfbench.runs.loop.steps import random_stream
from pfbench.sets import L2Ball

ROWS = 23
SMOOTH = pf.problem("log-cosh", rows=ROWS, columns=4, set="none")


def test_a_library_that_is_missing_is_named():
    with pytest.raises(InputError, match=r"nonesuch is not installed: .*pip install nonesuch"):
        import_optional_library("nonesuch.part")


def test_a_batch_with_an_optimizer_that_compares_values_is_refused():
    with pytest.raises(InputError, match="leave batch out"):
        TorchOptimizer(optimizer="LBFGS", iterations=3, step=1.0, batch=5)


@pytest.mark.parametrize(
    ("name", "options"),
    [("SGD", {"momentum": 0.9}), ("Adam", {}), ("LBFGS", {"line_search_fn": "strong_wolfe"})],
)
def test_an_optimizer_is_counted_as_its_closure_is(torch, name, options):
    p, calls, points = torch.zeros(4, dtype=torch.float64, requires_grad=True), 0, []
    with torch.no_grad():
        p.copy_(torch.from_numpy(SMOOTH.start()))
    optimizer = getattr(torch.optim, name)([p], lr=0.3, **options)

    def closure():
        nonlocal calls
        calls += 1
        z = p.detach().numpy().copy()
        p.grad = torch.from_numpy(SMOOTH.gradient(z))
        return SMOOTH.value(z)

    for _ in range(5):
        optimizer.step(closure)
        points.append(p.detach().numpy().copy())
    method = TorchOptimizer(optimizer=name, iterations=5, step=0.3, options=options)
    found, run = followed(SMOOTH, method)
    assert np.array_equal(found, points)
    assert run.counts.fo == calls
    assert run.counts.fv == (ROWS * calls if name == "LBFGS" else 0)


def test_a_step_that_requires_its_closure_reads_values(torch):
    class Polyak(torch.optim.Optimizer):
        def __init__(self, parameters, lr):
            super().__init__(parameters, {"lr": lr})

        def step(self, closure):
            loss = float(closure())
            (p,) = self.param_groups[0]["params"]
            with torch.no_grad():
                p -= loss / (2.0 * float(p.grad @ p.grad)) * p.grad

    run = pf.solve(SMOOTH, TorchOptimizer(optimizer=Polyak, iterations=5, step=1.0))
    assert (run.status, run.counts.fo, run.counts.fv) == ("finished", 5, 5 * ROWS)


def test_batches_are_counted_and_keep_to_the_budget(torch):
    method = TorchOptimizer(optimizer="SGD", iterations=30, step=0.3, batch=7)
    run = pf.solve(SMOOTH, method, budget=pf.Budget(sfo=100))
    assert (run.status, run.counts.sfo, run.iterations) == ("budget", 98, 14)
    rng, x = random_stream(0, "algorithm"), SMOOTH.start()
    for _ in range(14):
        x = x - 0.3 * SMOOTH.batch(rng.integers(ROWS, size=7), x)
    np.testing.assert_allclose(run.x, x, rtol=1e-14)
    assert pf.check(method, problem=SMOOTH).is_passed


def module(torch):
    torch.manual_seed(0)
    layers = torch.nn.Linear(3, 2), torch.nn.Tanh(), torch.nn.Dropout(), torch.nn.Linear(2, 1)
    return torch.nn.Sequential(*layers)


def test_the_loss_of_a_module(torch):
    """Against the same network by hand, and held to all that a problem is."""
    rng = np.random.default_rng(3)
    data, targets = rng.standard_normal((ROWS, 3)), rng.standard_normal((ROWS, 1))
    given = torch.from_numpy(data), torch.from_numpy(targets)
    net = module(torch)
    problem = from_module(net, torch.nn.MSELoss(reduction="none"), *given, L2Ball(11, 5.0))
    x = problem.start() + 0.1

    def losses(x):
        hidden = np.tanh(data @ x[:6].reshape(2, 3).T + x[6:8])
        return (hidden @ x[8:10] + x[10] - targets[:, 0]) ** 2

    assert problem.value(x) == pytest.approx(losses(x).mean(), rel=1e-14)
    for i in (0, 7):
        steps = [1e-6 * e for e in np.eye(11)]
        slopes = [(losses(x + e)[i] - losses(x - e)[i]) / 2e-6 for e in steps]
        np.testing.assert_allclose(problem.component(i, x), slopes, atol=1e-8)
    drawn = problem.batch(np.array([4, 4, 9]), x)
    by_counts = problem.batch(Sample(np.array([4, 9]), np.array([2, 1])), x)
    np.testing.assert_allclose(drawn, by_counts, rtol=1e-12)
    assert pf.check(problem).is_passed
    method = pf.algorithm("nfwu-spiderg", batch=5, period=4, iterations=8, step=0.01)
    run = pf.solve(problem, method)
    assert (run.status, run.counts.sfo) == ("finished", 2 * ROWS + 6 * 2 * 5)
    assert np.array_equal(
        next(net.parameters()).detach(), next(module(torch).parameters()).detach()
    )


def test_a_loss_that_is_reduced_is_refused(torch):
    zeros = torch.zeros(5, 3), torch.zeros(5, 1)
    with pytest.raises(InputError, match="reduction='none'"):
        from_module(module(torch), torch.nn.MSELoss(), *zeros)


@pytest.mark.parametrize(
    ("outputs", "targets", "loss"),
    [
        ((4, 1), (4,), "mse"),
        ((4,), (4, 1), "mse"),
        ((4, 1), (4,), "l1"),
        ((4, 1), (4,), "own"),
        ((4, 1), (4, 1), "centred"),
    ],
)
def test_losses_that_mix_inputs_are_refused(torch, outputs, targets, loss):
    kinds = {
        "mse": torch.nn.MSELoss(reduction="none"),
        "l1": torch.nn.L1Loss(reduction="none"),
        "own": lambda o, t: (o - t) ** 2,
        "centred": lambda o, t: (o - o.mean() - t) ** 2,
    }
    layers = [torch.nn.Linear(1, 1)] + ([torch.nn.Flatten(0)] if len(outputs) == 1 else [])
    X, y = torch.arange(4.0)[:, None], torch.arange(4.0).reshape(targets)
    with pytest.raises(InputError, match="depends on the other inputs"):
        from_module(torch.nn.Sequential(*layers), kinds[loss], X, y)


def test_a_module_in_any_surroundings(torch):
    X, y = np.array([[0.0], [1.0]]), np.array([[0.0], [1.0]])
    net, loss = torch.nn.Linear(1, 1), torch.nn.MSELoss(reduction="none")
    with torch.no_grad():
        problem = from_module(net, loss, X, y)
        assert np.array_equal(problem.gradient(np.array([1.0, 0.0])), [0.0, 0.0])
    assert problem.value(np.array([1.0, 0.0])) == 0.0

    class Noisy(torch.nn.Linear):
        def forward(self, x):
            return super().forward(x) + torch.randn(1)

    with pytest.raises(InputError, match="random"):
        from_module(Noisy(1, 1), loss, X, y)


@pytest.mark.parametrize("takes_closure", [True, False])
def test_an_optimizer_that_reads_the_gradient_alone_is_run(torch, takes_closure):
    """Its closure was never called: the run was finished at the start, without a call."""

    from signed_momentum import SignedMomentum

    class Signs(SignedMomentum):
        if takes_closure:

            def step(self, closure=None):
                super().step()
        else:

            def step(self):
                super().step()

    on = pf.problem("quadratic", rows=20, columns=4, set="none")
    run = pf.solve(on, TorchOptimizer(optimizer=Signs, iterations=3, step=0.5), measures=["value"])
    x = on.start()
    for _ in range(3):
        x = x - 0.5 * np.sign(on.gradient(x))
    assert (run.status, run.counts.fo) == ("finished", 3)
    np.testing.assert_array_equal(run.x, x)


def test_a_class_of_torch_in_the_place_of_an_algorithm_is_led_to_the_adapter(torch):
    with pytest.raises(InputError, match=r"TorchOptimizer\[optimizer=signed_momentum:"):
        pf.solve("quadratic[set=none]", "signed_momentum:SignedMomentum[lr=0.1]")


def test_the_key_of_a_stored_run_covers_the_file_of_its_optimizer():
    assert list_user_code_names("torch-optimizer[optimizer=mine.py:Mine,step=0.1]") == [
        "mine.py:Mine"
    ]


def two_layers(torch, bias):
    torch.manual_seed(0)
    layers = torch.nn.Linear(3, 4, bias=bias), torch.nn.Tanh(), torch.nn.Linear(4, 2, bias=bias)
    return torch.nn.Sequential(*layers)


def test_a_network_keeps_its_parameters_as_they_are(torch):
    net, loss = two_layers(torch, bias=True), torch.nn.MSELoss(reduction="none")
    inputs, targets = torch.randn(ROWS, 3), torch.randn(ROWS, 2)

    def row_loss(outputs, targets):
        return loss(outputs, targets).mean(axis=1)

    problem = from_module(net, row_loss, inputs, targets, norm="sum(spectral/linf)")
    start = problem.start()
    for name, parameter in net.named_parameters():
        np.testing.assert_array_equal(start[name], parameter.detach().numpy())
    assert [type(ball).name for ball in problem.norm.balls] == ["spectral", "linf"] * 2
    run = pf.solve(problem, pf.algorithm("uscg", step=0.1, iterations=4, batch=5))
    assert (run.status, run.counts.sfo, run.counts.lo) == ("finished", 20, 4)
    assert run.x["0.bias"].shape == (4,)
    assert pf.check(problem).is_passed


@pytest.mark.parametrize("optimizer", ["Muon", "AdamW", "signed_momentum:SignedMomentum"])
def test_an_optimizer_runs_on_the_layers_of_a_network(torch, optimizer):
    """Its points are those of the same optimiser on the parameters of the network itself."""
    net, X, Y = two_layers(torch, bias=False).double(), torch.randn(9, 3), torch.randn(9, 2)
    X, Y = X.double(), Y.double()
    problem = from_module(net, lambda o, t: ((o - t) ** 2).sum(axis=1), X, Y, norm="spectral")
    method = TorchOptimizer(optimizer=optimizer, iterations=5, step=0.02)
    run = pf.solve(problem, method, measures=["dual_norm"])
    assert (run.status, run.counts.fo) == ("finished", 5)
    if ":" in optimizer:
        import signed_momentum

        kind = signed_momentum.SignedMomentum
    else:
        kind = getattr(torch.optim, optimizer)
    stepper = kind(net.parameters(), lr=0.02)
    for _ in range(5):
        stepper.zero_grad()
        ((net(X) - Y) ** 2).sum(axis=1).mean().backward()
        stepper.step()
    for name, parameter in net.named_parameters():
        np.testing.assert_allclose(run.x[name], parameter.detach(), rtol=0, atol=2e-4)
