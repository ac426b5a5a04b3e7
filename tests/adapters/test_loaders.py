"""Samplers of torch's data sets: draws, exact means, augmentation, and loaders that are refused."""

import numpy as np
import pytest

import pfbench as pf
from pfbench.adapters import TorchOptimizer, from_loader
from pfbench.base.errors import InputError
from pfbench.oracles import Ledger, Oracles
from pfbench.sets import L2Ball

ROWS = 23
DATA = np.random.default_rng(3).standard_normal((ROWS, 3))
TARGETS = np.random.default_rng(4).standard_normal((ROWS, 1))


def linear(torch, *layers):
    torch.manual_seed(0)
    return torch.nn.Sequential(*layers, torch.nn.Linear(3, 1, bias=False))


def items(torch, rows=ROWS):
    repeats = -(-rows // ROWS)
    X, y = (np.tile(array, (repeats, 1))[:rows] for array in (DATA, TARGETS))
    return torch.utils.data.TensorDataset(*map(torch.from_numpy, (X, y)))


def make(torch, data=None, *, layers=(), **options):
    """Return the sampler of least squares by a module, on a data set or a loader."""
    data = items(torch) if data is None else data
    loss = torch.nn.MSELoss(reduction="none")
    return from_loader(linear(torch, *layers), loss, data, **options)


def row_gradients(x, inputs=DATA, targets=TARGETS):
    return 2.0 * (inputs @ x - targets[:, 0])[:, None] * inputs


def test_a_data_set_is_drawn_uniformly_and_measured_exactly(torch):
    problem = make(torch, lmo=L2Ball(3, 5.0))
    x = problem.start() + 0.1
    assert problem.value(x) == pytest.approx(((DATA @ x - TARGETS[:, 0]) ** 2).mean(), rel=1e-13)
    np.testing.assert_allclose(problem.gradient(x), row_gradients(x).mean(axis=0), rtol=1e-12)
    S = problem.sample(np.random.default_rng(5), 40)
    indices = np.random.default_rng(5).integers(ROWS, size=40)
    assert np.array_equal(S.values, indices)
    np.testing.assert_allclose(
        problem.batch(S, x), row_gradients(x)[indices].mean(axis=0), rtol=1e-12
    )
    passed = {r.check for r in pf.check(problem).findings if r.status == "passed"}
    assert {"draws", "batch and difference", "mean of the draws"} <= passed
    run = pf.solve(problem, pf.algorithm("sfw", iterations=9, step=0.1, batch=4))
    assert (run.status, run.counts.sfo) == ("finished", 36)


def test_a_large_data_set_is_measured_in_parts(torch):
    problem = make(torch, items(torch, 600))
    x = problem.start()
    rows = row_gradients(x)[np.arange(600) % ROWS]
    np.testing.assert_allclose(problem.gradient(x), rows.mean(axis=0), rtol=1e-12)
    assert problem.atoms is None


def loader(torch, way):
    tools, data = torch.utils.data, items(torch)
    samplers = {
        "with replacement": lambda: tools.RandomSampler(data, replacement=True),
        "weighted": lambda: tools.WeightedRandomSampler(np.arange(1.0, ROWS + 1), ROWS),
        "subset": lambda: tools.SubsetRandomSampler(range(5)),
    }
    if way == "batches of its own":
        return tools.DataLoader(data, batch_sampler=[[0, 1], [2, 3]])
    if way == "weighted batches":
        batches = tools.BatchSampler(samplers["weighted"](), 4, drop_last=False)
        return tools.DataLoader(data, batch_sampler=batches)
    if way in samplers:
        return tools.DataLoader(data, batch_size=4, sampler=samplers[way]())
    return tools.DataLoader(data, batch_size=4, shuffle=way == "shuffle")


@pytest.mark.parametrize("way", ["shuffle", "in order"])
def test_a_loader_without_replacement_needs_a_statement(torch, way):
    with pytest.raises(InputError, match="the loader shuffles or reads in order"):
        make(torch, loader(torch, way))
    problem = make(torch, loader(torch, way), replacement=True)
    assert problem.value(problem.start()) == make(torch).value(problem.start())


def test_a_loader_with_replacement_needs_no_statement(torch):
    assert len(make(torch, loader(torch, "with replacement")).atoms.values) == ROWS


@pytest.mark.parametrize(
    ("way", "by"),
    [
        ("weighted", "WeightedRandomSampler"),
        ("weighted batches", "WeightedRandomSampler"),
        ("subset", "SubsetRandomSampler"),
        ("batches of its own", "list"),
    ],
)
def test_a_loader_of_another_law_is_refused_whatever_is_stated(torch, way, by):
    for replacement in (False, True):
        with pytest.raises(InputError, match=f"draws by {by}, not uniformly"):
            make(torch, loader(torch, way), replacement=replacement)


def test_the_items_are_collated_as_by_the_loader(torch):
    def collate(pairs):
        X, y = torch.utils.data.default_collate(pairs)
        return 2.0 * X, y

    data = torch.utils.data.DataLoader(items(torch), collate_fn=collate)
    problem = make(torch, data, replacement=True)
    x = problem.start()
    expected = row_gradients(x, 2.0 * DATA).mean(axis=0)
    np.testing.assert_allclose(problem.gradient(x), expected, rtol=1e-12)


class Jittered:
    """Data set whose inputs are random at each reading."""

    def __init__(self, jitter):
        self.jitter = jitter

    def __len__(self):
        return ROWS

    def __getitem__(self, index):
        return DATA[index] + self.jitter(), TARGETS[index]


def iterable(torch):
    class Stream(torch.utils.data.IterableDataset):
        def __iter__(self):
            return iter(items(torch))

    return Stream()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda torch: {"data": iterable(torch)}, "no indices"),
        (lambda torch: {"data": torch.utils.data.DataLoader(iterable(torch))}, "no indices"),
        (lambda torch: {"data": iter(items(torch))}, "no indices"),
        (lambda torch: {"data": []}, "the data set is empty"),
        (lambda torch: {"data": torch.zeros(5, 3)}, r"must be a pair \(input, target\)"),
        (lambda torch: {"data": [(1, 2), (3,)]}, "the data set, the module or the loss raised"),
        (
            lambda torch: {"layers": [torch.nn.BatchNorm1d(3)]},
            "Expected more than 1 value per channel",
        ),
        (
            lambda torch: {"layers": [torch.nn.BatchNorm1d(3, track_running_stats=False).eval()]},
            "Expected more than 1 value per channel",
        ),
        (lambda torch: {"layers": [torch.nn.Dropout()]}, "random, .*augment=True"),
        (lambda torch: {"data": Jittered(lambda: torch.rand(3).numpy())}, "random, .*augment=True"),
        (
            lambda torch: {"data": Jittered(lambda: np.random.rand(3)), "augment": True},  # noqa: NPY002
            "random, .*draw from torch's generator alone",
        ),
        (lambda torch: {"augment": True, "seeds": 0}, "seeds"),
    ],
)
def test_what_is_no_sampler_of_independent_losses_is_refused_with_a_remedy(torch, change, message):
    with pytest.raises(InputError, match=message):
        make(torch, **change(torch))


def test_batch_normalisation_and_dropout_are_as_in_evaluation_after_eval(torch):
    layers = torch.nn.BatchNorm1d(3).eval(), torch.nn.Dropout().eval()
    problem = make(torch, layers=[torch.nn.Identity(), *layers])
    x = np.append(np.ones(3), np.zeros(3))  # weight and bias of the normalisation
    x = np.append(x, np.ones(3))
    expected = (((DATA / np.sqrt(1.0 + 1e-5)) @ np.ones(3) - TARGETS[:, 0]) ** 2).mean()
    assert problem.value(x) == pytest.approx(expected, rel=1e-12)


def test_an_augmented_sample_is_an_index_and_a_seed(torch):
    jitter = Jittered(lambda: torch.rand(3, dtype=torch.float64).numpy())
    problem = make(torch, jitter, augment=True, seeds=4)
    x, numbers = problem.start(), np.arange(4 * ROWS)
    inputs = []
    for k in numbers:
        torch.manual_seed(k)
        inputs.append(jitter[k // 4][0])
    rows = row_gradients(x, np.array(inputs), TARGETS[numbers // 4])
    np.testing.assert_allclose(problem.gradient(x), rows.mean(axis=0), rtol=1e-12)
    S = problem.sample(np.random.default_rng(7), 6)
    assert np.array_equal(S.values, np.random.default_rng(7).integers(4 * ROWS, size=6))
    np.testing.assert_allclose(problem.batch(S, x), rows[S.values].mean(axis=0), rtol=1e-12)


@pytest.mark.thin(2)
@pytest.mark.parametrize("source", ["dropout", "data set"])
def test_the_randomness_of_torch_belongs_to_the_sample(torch, source):
    if source == "dropout":
        problem = make(torch, layers=[torch.nn.Dropout(0.4)], augment=True, seeds=3)
    else:
        data = Jittered(lambda: torch.rand(3, dtype=torch.float64).numpy())
        problem = make(torch, data, augment=True, seeds=3)
    ledger, rng, state = Ledger(), np.random.default_rng(0), torch.get_rng_state()
    ask = Oracles(problem, ledger, problem.set.diameter)
    x, y = problem.start(), problem.start() + 1.0
    S = ask.sample(rng, 5)
    change = ask.difference(S, x, y)
    torch.rand(2)
    assert np.array_equal(change, ask.batch(S, x) - ask.batch(S, y))
    assert ledger.counts().sfo == 20
    singles = [problem.gradient(x) - problem.batch(problem.sample(rng, 1), x) for _ in range(3)]
    assert all(np.abs(error).max() > 1e-6 for error in singles)
    torch.set_rng_state(state)
    problem.gradient(x)
    assert torch.equal(torch.get_rng_state(), state)
    failed = [r for r in pf.check(problem).findings if r.status == "failed"]
    assert not failed


def test_an_optimizer_of_torch_and_an_online_form_run_on_a_loader(torch):
    problem = make(torch, loader(torch, "shuffle"), replacement=True)
    adam = TorchOptimizer(optimizer="Adam", iterations=6, step=0.1, batch=4)
    online = {"step": 0.02, "batch": 2, "period": 3, "snapshot": 5}
    spider = pf.algorithm("spiderboost", iterations=6, **online)
    for method, sfo in ((adam, 6 * 4), (spider, 2 * 5 + 4 * 2 * 2)):
        run = pf.solve(problem, method)
        assert (run.status, run.counts.sfo) == ("finished", sfo)
