"""Muon against torch's own."""

import unittest

import muon
import torch


class Steps(unittest.TestCase):
    def moved(self, make, shape):
        torch.manual_seed(3)
        p = torch.nn.Parameter(torch.randn(shape))
        before, optimizer = p.detach().clone(), make([p])
        for _ in range(3):
            optimizer.zero_grad()
            (p.square().sum() + (p @ torch.randn(shape[1], 3)).sum()).backward()
            optimizer.step()
        return p.detach() - before

    def test_as_torch_does_it(self):
        """Torch multiplies in BF16: 5 rounds of products with errors of 2^-9 each."""
        for shape in ((16, 48), (48, 16), (32, 32)):
            own = self.moved(lambda p: muon.Muon(p, 0.01, 0.1, 0.95, torch.float32), shape)
            known = self.moved(
                lambda p: torch.optim.Muon(p, 0.01, 0.1, 0.95, adjust_lr_fn="match_rms_adamw"), shape
            )
            self.assertLess((own - known).norm() / known.norm(), 0.02, shape)

    def test_bf16_moves_as_torch_does(self):
        own = self.moved(lambda p: muon.Muon(p, 0.01, 0.1, 0.95, torch.bfloat16), (16, 48))
        known = self.moved(lambda p: torch.optim.Muon(p, 0.01, 0.1, 0.95, adjust_lr_fn="match_rms_adamw"), (16, 48))
        self.assertLess((own - known).abs().max(), 1e-6)

    def test_singular_values_are_near_one(self):
        torch.manual_seed(4)
        values = torch.linalg.svdvals(muon.orthogonal(torch.randn(24, 64), torch.float32))
        self.assertGreater(values.min(), 0.6)
        self.assertLess(values.max(), 1.3)
