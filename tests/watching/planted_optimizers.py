"""Optimisers of a user, right, and with bugs of public optimisers of 2024 to 2026 planted back."""

import inspect
import sys
import tomllib
from pathlib import Path

import torch


class AdamW(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2):
        super().__init__(
            params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        )

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            lr, wd, eps, (beta1, beta2) = (group[k] for k in ("lr", "weight_decay", "eps", "betas"))
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state.update(t=0, m=torch.zeros_like(p), v=torch.zeros_like(p))
                state["t"] += 1
                t = state["t"]
                m, v = state["m"], state["v"]
                m.lerp_(p.grad, 1 - beta1)
                v.lerp_(p.grad.square(), 1 - beta2)
                u = (m / (1 - beta1**t)) / ((v / (1 - beta2**t)).sqrt() + eps)
                p.mul_(1 - lr * wd).sub_(lr * u)


class Muon(torch.optim.Optimizer):
    def __init__(self, params, lr=0.02, momentum=0.95, nesterov=True, weight_decay=0.1):
        keys = {"lr": lr, "momentum": momentum, "nesterov": nesterov, "weight_decay": weight_decay}
        super().__init__(params, keys)

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            lr, wd, beta = group["lr"], group["weight_decay"], group["momentum"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                g = p.grad
                M = state.setdefault("momentum", torch.zeros_like(p))
                M.mul_(beta).add_(g)
                N = g + beta * M if group["nesterov"] else M
                X = N.reshape(len(N), -1)
                tall = X.shape[0] > X.shape[1]
                X = X.T if tall else X
                X = X / X.norm()
                for a, b, c in [(3.4445, -4.7750, 2.0315)] * 5:
                    A = X @ X.T
                    X = a * X + (b * A + c * A @ A) @ X
                X = X.T if tall else X
                scale = max(1, X.shape[0] / X.shape[1]) ** 0.5
                p.mul_(1 - lr * wd).sub_(lr * scale * X.reshape(p.shape))


BUGS = tomllib.loads(Path(__file__).with_name("planted_bugs.toml").read_text())


def with_bug(cls, *edits):
    """Return the class with texts of its source replaced."""
    source = inspect.getsource(cls)
    for old, new in edits:
        assert source.count(old) == 1, (source.count(old), old)
        source = source.replace(old, new)
    names = dict(vars(sys.modules[__name__]))
    exec(compile(source, "planted_optimizers.py", "exec"), names)
    return names[cls.__name__]
