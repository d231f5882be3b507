# SPDX-License-Identifier: MIT
"""Clips made ahead by other processes."""

import os
import signal
import tempfile
import unittest

import bank
import data
import feeder
import torch
from test_train import run

SEED = 23


def generator():
    return data.Generator(bank.Bank(bank.shared(bank.invent(SEED)), None, "cpu"), 64, "cpu")


class Feeding(unittest.TestCase):
    def test_clips_come_as_asked_for_whoever_makes_them(self):
        """By ticket, in any order; those of one ticket are alike with one process and with two, and as made here."""
        shapes = {0: (2, 1), 1: (1, 3), 2: (3, 2)}
        seen = []
        for workers in (1, 2):
            feed = feeder.Feeder(generator, workers, SEED)
            for ticket, shape in shapes.items():
                feed.ask(ticket, *shape)
            seen.append({t: feed.take(t, "cpu") for t in (2, 0, 1)})
            for worker in feed.workers:
                worker.terminate()
        for ticket, (count, frames) in shapes.items():
            torch.manual_seed(SEED * 2**32 + ticket)
            wanted = generator()
            torch.manual_seed(SEED * 2**32 + ticket)
            wanted = wanted(count, frames)
            for clips in (s[ticket] for s in seen):
                self.assertLessEqual((clips.frames - wanted.frames).abs().max(), 0.501)
                for part in ("masks", "known", "present"):
                    self.assertTrue(getattr(clips, part).equal(getattr(wanted, part).float()), part)

    def test_a_process_that_dies_is_told(self):
        feed = feeder.Feeder(generator, 1, SEED)
        os.kill(feed.workers[0].pid, signal.SIGKILL)
        with self.assertRaisesRegex(feeder.FeederError, r"ended \(exit status -9\)"):
            feed.take(0, "cpu")

    def test_a_trainer_with_feeders(self):
        with tempfile.TemporaryDirectory() as folder:
            small = ("--out", folder, "--size", "64", "--batch", "1", "--frames", "3", "--minutes", "0.05")
            self.assertEqual(run(*small, "--feeders", "2"), (0, ""))
            state = torch.load(os.path.join(folder, "checkpoint.pt"), weights_only=True)
            self.assertGreater(state["step"], 0)


if __name__ == "__main__":
    unittest.main()
