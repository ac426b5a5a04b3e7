"""Watch counts to the unit, measures what its definitions say, and changes nothing of a loop."""

import copy
import subprocess
import sys
from collections import namedtuple

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from pfbench.base.errors import InputError  # noqa: E402
from pfbench.torch import Watch  # noqa: E402
from pfbench.torch.replay import batch_length, slice_batch  # noqa: E402

TEXT = (
    "the gradient of a mean is the mean of the gradients, whatever the order of the samples. " * 9
)
LETTERS = sorted(set(TEXT))
CODES = torch.tensor([LETTERS.index(letter) for letter in TEXT])
CONTEXT = 6


class CharacterModel(torch.nn.Module):
    """A language model of characters: an embedding and two layers."""

    def __init__(self, p=0.0):
        super().__init__()
        self.embedding = torch.nn.Embedding(len(LETTERS), 8)
        self.hidden = torch.nn.Linear(8 * CONTEXT, 24)
        self.dropout = torch.nn.Dropout(p)
        self.output = torch.nn.Linear(24, len(LETTERS))

    def forward(self, codes):
        return self.output(self.dropout(torch.tanh(self.hidden(self.embedding(codes).flatten(1)))))


class CountingLoss(torch.autograd.Function):
    """The identity of a loss that counts the samples of which the gradient is computed."""

    samples = 0

    @staticmethod
    def forward(ctx, loss, size):
        ctx.size = size
        return loss.clone()

    @staticmethod
    def backward(ctx, gradient):
        CountingLoss.samples += ctx.size
        return gradient, None


def loss_of(model, batch):
    return torch.nn.functional.cross_entropy(model(batch[0]), batch[1])


def counted(model, batch):
    return CountingLoss.apply(loss_of(model, batch), len(batch[0]))


def draw(generator, size):
    at = torch.randint(len(TEXT) - CONTEXT, (size,), generator=generator)
    return torch.stack([CODES[i : i + CONTEXT] for i in at]), CODES[at + CONTEXT]


def make_muon(model):
    return torch.optim.Muon([model.hidden.weight, model.output.weight], lr=0.02)


def make_adamw(model):
    return torch.optim.AdamW(model.parameters(), lr=1e-2)


def train(model, optimizer, watch=None, steps=12, sizes=(16, 5)):
    """Train with accumulated gradients and an evaluation on the way; return the mean losses."""
    generator, losses = torch.Generator().manual_seed(1), []
    batches = ([draw(generator, size) for size in sizes] for _ in range(steps))
    for parts in batches:
        optimizer.zero_grad()
        for batch in watch.batches(parts) if watch else parts:
            loss = counted(model, batch) / len(sizes)
            loss.backward()
            losses.append(float(loss.detach()))
        optimizer.step()
        with torch.no_grad():
            model(CODES[:60].view(10, 6))
        model(CODES[:60].view(10, 6))  # an evaluation without no_grad, whose gradient nobody asks
    return losses


@pytest.mark.parametrize("make", [make_muon, make_adamw])
@pytest.mark.parametrize("replayed", [False, True])
def test_counts_equal_those_of_a_counting_loss(make, replayed):
    torch.manual_seed(0)
    model = CharacterModel()
    optimizer, CountingLoss.samples = make(model), 0
    replay = (lambda batch: loss_of(model, batch)) if replayed else None
    watch = Watch(optimizer, model, every=3, replay=replay)
    train(model, optimizer, watch)
    assert watch.counts.sfo == CountingLoss.samples == 12 * (16 + 5)
    muon = make is make_muon
    assert (watch.counts.lo, watch.counts.lo_layers) == ((12, 24) if muon else (0, 0))
    assert watch.counts.products == (12 * 2 * 15 if muon else 0)
    assert (watch.counts.steps, watch.counts.skipped) == (12, 0)
    assert (watch.counts.replay_sfo > 0) == replayed
    assert watch.measurement_count == 5  # the first and each third


def test_counts_of_closures_second_orders_and_steps_without_gradient():
    model = torch.nn.Linear(3, 2, bias=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    watch = Watch(optimizer, model, every=1)
    x = torch.randn(7, 3, requires_grad=True)
    optimizer.step()  # no gradient yet
    torch.autograd.grad(model(x).sum(), x)  # of the input alone: no gradient of the loss
    loss = model(x).sum() + model(x[:4]).sum()  # two calls, one backward pass
    loss.backward()
    assert watch.counts.sfo == 7 + 4

    def closure():
        optimizer.zero_grad()
        value = (model(x) @ model(x).T).sum()
        value.backward()
        return value

    optimizer.step(closure)
    assert watch.counts.sfo == 7 + 4 + 14
    assert (watch.counts.steps, watch.counts.skipped) == (2, 1)
    assert (watch.counts.products, watch.counts.without_gradient) == (0, 1)
    watch.close()
    model(x).sum().backward()
    assert watch.counts.sfo == 25


def test_a_loop_is_not_changed_bit_by_bit():
    """Dropout, batch normalisation, a copy of the model, and replay on each step."""
    results = []
    for watched in (False, True):
        torch.manual_seed(3)
        model = torch.nn.Sequential(CharacterModel(p=0.3), torch.nn.BatchNorm1d(len(LETTERS)))
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
        watch = None
        if watched:
            watch = Watch(optimizer, model, every=1, replay=lambda b, m=model: loss_of(m, b))
            assert "Watch" not in str(copy.deepcopy(model))
        losses = train(model, optimizer, watch)
        if watched:
            notes = [f.text for f in watch.report().findings]
            assert any("not the mean of its halves" in text for text in notes)
        state = [v.clone() for v in model.state_dict().values()]
        results.append(
            ([torch.tensor(losses), *state, torch.rand(2)], copy.deepcopy(optimizer.state_dict()))
        )
    assert all(map(torch.equal, results[0][0], results[1][0]))
    assert str(results[0][1]) == str(results[1][1])


# --- constants ------------------------------------------------------------------------------------


class Regression(torch.nn.Module):
    """K equations in d unknowns; a batch has indices of equations."""

    def __init__(self, a, b):
        super().__init__()
        self.a, self.b = a, b
        self.x = torch.nn.Parameter(torch.full((a.shape[1],), 3.0, dtype=torch.float64))

    def forward(self, indices):
        return 0.5 * (self.a[indices] @ self.x - self.b[indices]).square().mean()


def watch_regression(a, b, batch=1, steps=150, lr=0.05, **options):
    torch.manual_seed(0)
    model = Regression(torch.tensor(a), torch.tensor(b))
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    watch = Watch(optimizer, model, replay=model, every=1, **options)
    for indices in watch.batches(torch.randint(len(a), (steps, batch))):
        optimizer.zero_grad()
        model(indices).backward()
        optimizer.step()
    return watch


RNG = np.random.default_rng(0)
A, B = RNG.standard_normal((5, 6)), RNG.standard_normal(5)
LARGEST = float((A**2).sum(axis=1).max())
L_MS = float(np.sqrt(np.linalg.eigvalsh(np.einsum("k,ki,kj->ij", (A**2).sum(1) / 5, A, A))[-1]))


def test_an_affine_loss_has_no_curvature_whatever_the_noise():
    """Gradients of different samples would have sqrt(2)/t, the inverse of the step."""

    class Affine(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(torch.zeros(24, 32))

        def forward(self, noise):
            return (self.w * noise).sum(dim=(1, 2)).mean()

    torch.manual_seed(0)
    model = Affine()
    optimizer = torch.optim.Muon(model.parameters(), lr=0.018)
    watch = Watch(optimizer, model, replay=model, every=1)
    for noise in watch.batches(torch.randn(20, 2, 24, 32)):
        optimizer.zero_grad()
        model(noise).backward()
        optimizer.step()
    assert (watch.constants["L"], watch.constants["L_ms"], watch.constants["rho"]) == (0, 0, 0)
    assert watch._replay.curvatures == []  # below rounding
    assert watch.norm.name == "spectral"


def test_the_own_sample_of_a_step_is_no_sample_for_the_mean_square():
    watch = watch_regression(A, B)
    own = watch.table.query("layer == 'all'")["L"]
    assert watch.constants["L"] == pytest.approx(LARGEST, rel=1e-6)  # and no more
    assert float(np.sqrt((own**2).mean())) > L_MS > watch.constants["L_ms"]
    assert watch.constants["rho"] < 1e-6 * LARGEST  # a quadratic


def test_curvature_of_a_step_is_that_of_its_direction():
    watch = watch_regression(A[:1], B[:1], steps=30, lr=0.01)
    values = watch.table.query("layer == 'all'")["c"].dropna()
    np.testing.assert_allclose(values, float((A[0] ** 2).sum()), rtol=1e-6)


def test_variance_of_a_sample_from_halves_of_batches():
    watch = watch_regression(A, B, batch=7, steps=120, lr=1e-9)
    gradients = A * (A @ np.full(6, 3.0) - B)[:, None]
    variance = float(((gradients - gradients.mean(axis=0)) ** 2).sum(axis=1).mean())
    values = watch.table.query("layer == 'all'")["sigma2"]
    assert abs(values.mean() - variance) < 4 * values.std() / 120**0.5
    assert watch.constants["sigma2"] == pytest.approx(values.mean())


def test_batches_may_be_named_tuples_and_hold_text():
    batch = namedtuple("Batch", "names x")(["a", "b", "c"], torch.arange(3.0))
    assert batch_length(batch) == 3
    assert slice_batch(batch, 1, 2).x.tolist() == [1.0]


def test_gradients_in_eval_mode_are_noted_once_they_reach_the_parameters():
    model = CharacterModel(0.3).eval()
    train(model, make_adamw(model), watch := Watch(make_adamw(model), model), steps=1)
    assert any("in eval mode, which changes Dropout" in f.text for f in watch.report().findings)


def train_with_dropout(loss, *, is_cleared):
    """Train with dropout on 20 batches; return the texts of Watch's findings."""
    torch.manual_seed(4)
    x, y, layers = torch.randn(200, 6), torch.randn(200, 1), torch.nn.Linear(6, 16)
    model = torch.nn.Sequential(layers, torch.nn.Dropout(0.4), torch.nn.Linear(16, 1))
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.ndim > 1], lr=0.02)
    watch = Watch(optimizer, model, every=3, replay=lambda batch: loss(model, *batch))
    for batch in watch.batches(zip(x.split(10), y.split(10), strict=True)):
        if is_cleared:
            optimizer.zero_grad()
        loss(model, *batch).backward()
        optimizer.step()
    return " ".join(finding.text for finding in watch.report().findings)


def consistent(model, x, y):
    """Return the loss of two calls, which draw different numbers."""
    return ((model(x) - y) ** 2).mean() + ((model(x) - model(x)) ** 2).mean()


def mixed(model, x, y):
    return ((model(x * torch.rand(len(x), 1)) - y) ** 2).mean()


@pytest.mark.parametrize("loss", [lambda model, x, y: ((model(x) - y) ** 2).mean(), mixed])
def test_gradients_that_are_not_cleared_are_noted_with_dropout(loss):
    is_noted = "do not take the gradient" in train_with_dropout(loss, is_cleared=False)
    assert is_noted == (loss is not mixed)


@pytest.mark.parametrize(
    "loss", [lambda model, x, y: ((model(x) - y) ** 2).mean(), consistent, mixed]
)
def test_cleared_gradients_are_right_with_any_random_numbers(loss):
    assert "do not take the gradient" not in train_with_dropout(loss, is_cleared=True)


def test_what_follows_from_a_measurement():
    watch = watch_regression(A, B, specification={"L": 1.0, "rho": 1.0, "step_limit": 0.1})
    bugs = [f.text for f in watch.report().findings if f.is_bug]
    assert any("stated L=1 is refuted: at least" in text for text in bugs)
    assert any("unmet assumption: lr=0.05 exceeds 0.1/L" in text for text in bugs)
    assert not any("rho" in text for text in bugs)
    assert "confirmed on this run" in watch.conclude(1.0, lambda c: c["L"])
    assert "nothing follows" in watch.conclude(1e3, lambda c: c["L"])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("reduce", [torch.mean, torch.sum])
def test_a_true_constant_is_not_refuted_by_rounding_or_a_sum(dtype, reduce):
    model = torch.nn.Linear(1, 1, bias=False, dtype=dtype)
    torch.nn.init.constant_(model.weight, 0.7)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.03)
    signs = torch.tensor([[1.0], [-1.0]], dtype=dtype).repeat(4, 1)
    options = {"every": 1, "specification": {"L": 1.0}}
    watch = Watch(optimizer, model, replay=lambda s: reduce(model(s) ** 2) / 2, **options)
    for batch in watch.batches([signs] * 30):
        optimizer.zero_grad()
        (reduce(model(batch) ** 2) / 2).backward()
        optimizer.step()
    text = str(watch.report())
    assert "refuted: at least" not in text
    assert ("batch's loss" in text) == (reduce is torch.sum)


# --- reports and mistakes -------------------------------------------------------------------------


def test_the_report_is_a_page_with_figures(tmp_path):
    torch.manual_seed(0)
    model = CharacterModel()
    optimizer = make_muon(model)
    watch = Watch(optimizer, model, every=2, replay=lambda batch: loss_of(model, batch))
    train(model, optimizer, watch)
    report = watch.report(str(tmp_path / "watch.html"))
    text, page = str(report), (tmp_path / "watch.html").read_text()
    assert "sfo                252" in text
    assert "One run neither" in text
    assert page.count("<svg") == 1
    assert "http" not in page.partition("<svg")[0]
    layers = watch.table.query("layer == 'hidden.weight'")
    assert layers["lo"].between(0.68, 1.2).all()
    assert layers["step_over_lr"].notna().all()


def test_a_loader_that_shuffles_is_an_unmet_assumption():
    model = CharacterModel()
    data = torch.utils.data.TensorDataset(*draw(torch.Generator().manual_seed(0), 20))
    for replacement, expected in ((False, 1), (True, 0)):
        watch = Watch(make_adamw(model), model)
        sampler = torch.utils.data.RandomSampler(data, replacement=replacement)
        loader = torch.utils.data.DataLoader(data, batch_size=5, sampler=sampler)
        assert len(list(watch.batches(loader))) == 4
        texts = [f.text for f in watch.report().findings]
        assert sum("without replacement" in text for text in texts) == expected


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"every": 0}, "every=0"),
        ({"optimizer": None}, "torch.optim.Optimizer"),
        ({"specification": {"step": 1}}, "specification"),
    ],
)
def test_a_wrong_argument_is_refused(options, words):
    model = CharacterModel()
    optimizer = options.pop("optimizer", make_adamw(model))
    with pytest.raises(InputError, match=words):
        Watch(optimizer, model, **options)


def test_without_torch_the_import_says_what_to_install():
    code = "import sys; sys.modules['torch'] = None; import pfbench.torch"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stderr.splitlines()[-1] == (
        'ImportError: pfbench.torch needs PyTorch: pip install "pfbench[torch]".'
    )
