"""Bugs of public optimisers are named from a user's loop; right optimisers are not accused."""

import re

import pytest

torch = pytest.importorskip("torch")

from watching.planted_optimizers import BUGS, AdamW, Muon, with_bug  # noqa: E402

from pfbench.torch import Watch  # noqa: E402

STATED = {"orthogonaliser": "jordan", "scale": "original"}


class Net(torch.nn.Module):
    """Two matrices, a kernel, and a matrix that no loss reaches."""

    def __init__(self):
        super().__init__()
        self.kernel = torch.nn.Conv2d(1, 12, 2, bias=False)
        self.first = torch.nn.Linear(12, 6, bias=False)
        self.last = torch.nn.Linear(6, 2, bias=False)
        self.idle = torch.nn.Linear(3, 3, bias=False)

    def forward(self, x):
        return self.last(torch.tanh(self.first(torch.tanh(self.kernel(x)).mean((2, 3)))))


def watch_loop(optimizer_class, specification=(), steps=4, dtype=torch.float32, **settings):
    """Return the bugs and the notes after a short loop."""
    torch.manual_seed(0)
    net = Net().to(dtype)
    optimizer = optimizer_class(net.parameters(), **settings)
    watch = Watch(optimizer, net, every=1, specification=dict(specification))
    for _ in range(steps):
        optimizer.zero_grad()
        net(torch.randn(8, 1, 4, 4, dtype=dtype)).square().mean().backward()
        optimizer.step()
    findings = watch.report().findings
    return [[f.text for f in findings if f.is_bug == bug] for bug in (True, False)]


@pytest.mark.parametrize(
    ("cls", "bug"), [(cls, bug) for cls in (AdamW, Muon) for bug in BUGS[cls.__name__]]
)
def test_a_bug_is_named(cls, bug):
    planted = BUGS[cls.__name__][bug]
    optimizer = with_bug(cls, (planted["old"], planted["new"]))
    bugs, _ = watch_loop(optimizer, STATED if cls is Muon else ())
    assert any(re.search(planted["finding"], text) for text in bugs), bugs


def test_bfloat16_weights_lose_their_decay():
    bugs, _ = watch_loop(AdamW, dtype=torch.bfloat16, lr=1e-3)
    assert any("weight_decay is lost to rounding in bfloat16" in text for text in bugs)


def average(params, **settings):
    """Return torch's Muon on matrices; it keeps an average and computes in bfloat16."""
    return torch.optim.Muon([p for p in params if p.ndim == 2], **settings)


PUBLIC = with_bug(  # as published: in bfloat16, with an average
    *(Muon, ("X = N.reshape(len(N), -1)", "X = N.reshape(len(N), -1).bfloat16()")),
    *(("M.mul_(beta).add_(g)", "M.lerp_(g, 1 - beta)"), ("g + beta * M if", "g.lerp(M, beta) if")),
)


@pytest.mark.thin(2)
@pytest.mark.parametrize(
    ("optimizer", "settings", "words"),
    [
        (PUBLIC, {"specification": STATED, "steps": 20}, "the steps are those of Muon"),
        (AdamW, {}, "the steps are those of AdamW"),
        (AdamW, {"lr": 0.3, "eps": 1e-3, "weight_decay": 0.0}, "the steps are those of AdamW"),
        (Muon, {}, "the steps are those of Muon"),
        (Muon, {"nesterov": False}, "the steps are those of Muon"),
        (Muon, {"momentum": 0.0}, "the steps are those of Muon"),
        (average, {}, "the steps are those of Muon"),
        (average, {"nesterov": False, "adjust_lr_fn": "match_rms_adamw"}, "those of Muon"),
        (torch.optim.AdamW, {"foreach": True}, "the steps are those of AdamW"),
        (torch.optim.Adam, {"weight_decay": 0.1}, "the steps are those of Adam"),
        (torch.optim.Adam, {"weight_decay": 0.1, "decoupled_weight_decay": True}, "of AdamW"),
        (torch.optim.SGD, {"momentum": 0.9, "nesterov": True}, "the steps are those of SGD"),
        (torch.optim.SGD, {"weight_decay": 1e-4}, "the steps are those of SGD"),
        (torch.optim.RMSprop, {"weight_decay": 1e-2, "momentum": 0.9}, ""),
        (torch.optim.Adagrad, {}, ""),
        (torch.optim.NAdam, {}, ""),
        (torch.optim.RAdam, {"weight_decay": 0.1, "decoupled_weight_decay": True}, ""),
        (torch.optim.Adamax, {}, ""),
        (torch.optim.Adafactor, {}, ""),
        (torch.optim.Rprop, {}, ""),
    ],
)
def test_a_right_optimiser_is_not_accused(optimizer, settings, words):
    bugs, notes = watch_loop(optimizer, **settings)
    assert not bugs
    assert "no step had a gradient of idle.weight" in notes
    assert any(words in text for text in notes) or not words


class KeepsParameters(AdamW):
    """AdamW that is made from a model, and keeps its parameters."""

    def __init__(self, model):
        super().__init__(model.parameters())
        self.parameters = [*model.parameters()]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (KeepsParameters, "cannot be copied, as it keeps parameters outside"),
        (lambda net: torch.optim.LBFGS(net.parameters()), "LBFGS.step needs a closure"),
        (lambda net: with_bug(Muon, ("p.grad is None", "0"))(net.parameters()), "those of Muon"),
    ],
)
def test_an_optimiser_that_cannot_be_examined_is_not_accused(make, words):
    net = torch.nn.Linear(4, 2, bias=False)
    findings = Watch(make(net), net).report().findings
    assert any(words in f.text for f in findings)
    assert not any(f.is_bug for f in findings)


@pytest.mark.parametrize(("clears", "differing"), [(True, []), (False, ["2 of 3 measured steps"])])
def test_gradients_of_another_batch_are_noted(clears, differing):
    net = torch.nn.EmbeddingBag(4, 2, sparse=True)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    watch = Watch(optimizer, net, every=1, replay=lambda batch: net(batch).square().mean())
    for batch in watch.batches(torch.randint(4, (3, 8, 5))):
        net(batch).square().mean().backward()
        optimizer.step()
        if clears:
            optimizer.zero_grad()
    notes = [f.text for f in watch.report().findings]
    assert [text[:21] for text in notes if "measured" in text] == differing


def test_the_learning_rate_and_attributes_of_a_run_that_goes_on_are_not_mistaken():
    """A counter kept on the optimiser, and a scheduler that wraps its step."""
    torch.manual_seed(0)
    net = Net()
    counting = with_bug(
        AdamW, ('t = state["t"]', "self.n = max(getattr(self, 'n', 0), state['t']); t = state['t']")
    )
    optimizer = counting(net.parameters())
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=5)
    watch = Watch(optimizer, net, every=1)
    for _ in range(5):
        net(torch.randn(8, 1, 4, 4)).square().mean().backward()
        optimizer.step()
        scheduler.step()
    assert optimizer.param_groups[0]["lr"] == 0.0  # with it, nothing has an effect
    assert not [f for f in watch.report().findings if f.is_bug]
    assert watch.table.query("layer == 'all'").shape[0] == watch.counts.steps == 5
