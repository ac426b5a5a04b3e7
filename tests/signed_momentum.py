"""An optimiser of torch that is in no library."""

import torch


class SignedMomentum(torch.optim.Optimizer):
    """Steps along the sign of the momentum, of each parameter as it is."""

    def __init__(self, params, lr, momentum=0.0):
        super().__init__(params, {"lr": lr, "momentum": momentum})

    def step(self, closure=None):
        loss = None if closure is None else closure()
        for group in self.param_groups:
            for p in (one for one in group["params"] if one.grad is not None):
                m = self.state[p]["m"] = group["momentum"] * self.state[p].get("m", 0.0) + p.grad
                p.data -= group["lr"] * m.sign()
        return loss
