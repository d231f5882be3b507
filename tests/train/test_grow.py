# SPDX-License-Identifier: MIT
import contextlib
import io
import os
import tempfile
import unittest
from unittest import mock

import grow
import model
import torch

SEED = 5
SMALL = model.sized(model.NANO, 64)


def run(*arguments):
    """(exit status, what it said on stderr)."""
    said = io.StringIO()
    with mock.patch("sys.argv", ["grow.py", *arguments]), contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        return grow.main(), said.getvalue()


def answers(net):
    """What the network makes of two pictures, the second with the first in memory."""
    torch.manual_seed(SEED)
    images = torch.rand(2, 3, 64, 64) * 255
    with torch.no_grad():
        fine, middle, coarse = model.encode(net, model.normalise(net, images))
        memory = model.encode_memory(net, coarse[:1], torch.rand(1, 1, 64, 64), torch.ones(1, 1))
        attended = model.attend(net, coarse[1:], [(memory, -1)], [(torch.rand(1, net.samtrack["d_model"]), 1)])
        return [fine, middle, coarse, attended]


class Grow(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        torch.manual_seed(SEED)
        cls.folder = tempfile.TemporaryDirectory()
        cls.source, cls.out = (os.path.join(cls.folder.name, f"{n}.safetensors") for n in ("a", "out"))
        model.save(model.build(SMALL), cls.source)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_a_deeper_network_answers_alike(self):
        self.assertEqual(run("--out", self.out, "--stages", "2,2,7,3", "--layers", "4", self.source), (0, ""))
        before, after = model.load(self.source), model.load(self.out)
        self.assertEqual(after.samtrack["trunk"]["stages"], [2, 2, 7, 3])
        self.assertEqual(len(after.memory_attention.layers), 4)
        for a, b in zip(answers(before), answers(after)):
            torch.testing.assert_close(b, a, rtol=1e-5, atol=1e-5)

    def test_new_blocks_can_learn(self):
        """The ends are zero, and their gradients are not."""
        run("--out", self.out, "--stages", "1,2,6,1", self.source)
        net = model.load(self.out)
        end = net.vision_encoder.backbone.blocks[8].mlp.proj_out.weight
        self.assertEqual(end.abs().max().item(), 0)
        model.encode(net, model.normalise(net, torch.rand(1, 3, 64, 64) * 255))[2].square().sum().backward()
        self.assertGreater(end.grad.abs().max().item(), 0)

    def test_shallower_is_refused(self):
        for wanted, words in (("1,2,4,1", "--stages: wanted 4 numbers"), ("1,2", "--stages"), ("1,2,x,1", "invalid literal")):
            status, said = run("--out", self.out, "--stages", wanted, self.source)
            self.assertEqual(status, 1)
            self.assertIn(words, said)
        self.assertIn("--layers: wanted 2 or more, got 1", run("--out", self.out, "--layers", "1", self.source)[1])


if __name__ == "__main__":
    unittest.main()
