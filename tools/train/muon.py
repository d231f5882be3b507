# SPDX-License-Identifier: MIT
"""Muon (Jordan et al., 2024) in the precision that this machine is fast in.

torch.optim.Muon multiplies in BF16 only, which takes four fifths of a step on a CPU without instructions for BF16.
"""

import torch
import torch.distributed

# Newton-Schulz: the polynomial a x + b x^3 + c x^5 takes singular values from (0, 1] to about 1 in five rounds.
COEFFICIENTS = (3.4445, -4.7750, 2.0315)
ROUNDS = 5


def orthogonal(update, kind):
    """The matrix of `update`'s singular vectors with singular values near 1; products of type `kind`."""
    a, b, c = COEFFICIENTS
    tall = update.size(0) > update.size(1)
    x = (update.T if tall else update).to(kind)
    x = x / x.norm().clamp(min=1e-7)
    for _ in range(ROUNDS):
        gram = x @ x.T
        x = torch.addmm(x, torch.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if tall else x


class Muon(torch.optim.Optimizer):
    """For matrices. Steps have the size of AdamW's (Liu et al., arXiv 2502.16982): 0.2 sqrt(longer side).

    kind: the type of the products. The state has the names of torch.optim.Muon's. Workers with equal gradients share the
    work: each makes the directions of some of the matrices, and all get those of all.
    """

    def __init__(self, matrices, lr, weight_decay, momentum, kind, rank=0, workers=1):
        super().__init__(matrices, {"lr": lr, "weight_decay": weight_decay, "momentum": momentum})
        self.kind, self.rank, self.workers = kind, rank, workers

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            # Of falling cost in turn, so that every worker has about as much to do.
            moved = [p for p in group["params"] if p.grad is not None]
            moved.sort(key=lambda p: -p.numel() * min(p.shape))
            directions = [self.direction(p, group["momentum"], i % self.workers == self.rank) for i, p in enumerate(moved)]
            if self.workers > 1 and moved:
                flat = torch.cat([d.flatten() for d in directions])
                torch.distributed.all_reduce(flat)
                directions = [d.view_as(p) for d, p in zip(flat.split([p.numel() for p in moved]), moved)]
            for p, direction in zip(moved, directions):
                p.mul_(1 - group["lr"] * group["weight_decay"])
                p.add_(direction, alpha=-group["lr"] * 0.2 * max(p.shape) ** 0.5)

    def direction(self, p, momentum, is_mine):
        """Where `p` is to go, of singular values near 1; zeros where it is another worker's."""
        state = self.state[p]
        if not state:
            state["momentum_buffer"] = torch.zeros_like(p)
        kept = state["momentum_buffer"].lerp_(p.grad, 1 - momentum)
        if not is_mine:
            return torch.zeros_like(p)
        return orthogonal(p.grad.lerp(kept, momentum), self.kind).to(p.dtype)  # Nesterov's
