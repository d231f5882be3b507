# SPDX-License-Identifier: MIT
"""Muon against torch's own, and shared by workers."""

import os
import tempfile
import unittest

import muon
import torch
import torch.distributed
import torch.multiprocessing

SHAPES = ((16, 48), (64, 16), (32, 32), (24, 20), (8, 40))


def three_steps(rank, workers, out):
    """Writes the matrices of worker `rank` after three steps with equal gradients to the folder `out`."""
    torch.set_num_threads(1)
    if workers > 1:
        os.environ["GLOO_SOCKET_IFNAME"] = "lo"
        torch.distributed.init_process_group("gloo", f"file://{out}/meeting", world_size=workers, rank=rank)
    torch.manual_seed(6)
    matrices = [torch.nn.Parameter(torch.randn(shape)) for shape in SHAPES]
    optimizer = muon.Muon(matrices, 0.01, 0.1, 0.95, torch.float32, rank, workers)
    for _ in range(3):
        optimizer.zero_grad()
        sum((m @ torch.randn(m.shape[1], 3)).square().sum() for m in matrices).backward()
        optimizer.step()
    torch.save([m.detach() for m in matrices], os.path.join(out, f"{workers}-{rank}.pt"))


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

    def test_workers_that_share_the_work_move_as_one_does(self):
        with tempfile.TemporaryDirectory() as out:
            three_steps(0, 1, out)
            torch.multiprocessing.spawn(three_steps, (2, out), nprocs=2)
            alone, *shared = (torch.load(os.path.join(out, f"{name}.pt")) for name in ("1-0", "2-0", "2-1"))
        for found in shared:
            for a, b in zip(alone, found):
                self.assertLess((a - b).abs().max(), 1e-6)  # products of other shapes on one thread or more
