"""The trainer as a user runs it: a first look, a kill, a resume, and what it refuses."""

import contextlib
import io
import os
import tempfile
import unittest
from unittest import mock

import model
import torch
import train


def run(*arguments):
    """(exit status, what it said on stderr)."""
    said = io.StringIO()
    with mock.patch("sys.argv", ["train.py", "--workers", "1", *arguments]), contextlib.redirect_stderr(said):
        return train.main(), said.getvalue()


class Trainer(unittest.TestCase):
    def test_trains_exports_and_resumes(self):
        with tempfile.TemporaryDirectory() as folder:
            small = ("--out", folder, "--size", "64", "--batch", "1", "--frames", "2")
            self.assertEqual(run(*small, "--minutes", "0.02"), (0, ""))
            net = model.load(os.path.join(folder, "samtrack-nano.safetensors"))
            self.assertEqual(net.samtrack["image_size"], 64)
            first = torch.load(os.path.join(folder, "checkpoint.pt"), weights_only=True)
            minutes = first["seconds"] / 60 + 0.02
            self.assertEqual(run(*small, "--minutes", str(minutes), "--resume"), (0, ""))
            second = torch.load(os.path.join(folder, "checkpoint.pt"), weights_only=True)
            self.assertGreater(second["step"], first["step"])
            self.assertEqual([f for f in os.listdir(folder) if f.endswith(".part")], [])

    def refused(self, pattern, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            status, said = run("--out", folder, *(a.replace("FOLDER", folder) for a in arguments))
        self.assertEqual(status, 1)
        self.assertEqual(len(said.strip().splitlines()), 1, said)
        self.assertRegex(said, pattern)

    def test_refuses_a_folder_without_videos(self):
        self.refused("no readable video", "--videos", "FOLDER")

    def test_refuses_too_little_memory(self):
        self.refused("MiB of memory are available", "--bank-mib", "99999999")

    def test_a_checkpoint_cut_short_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "checkpoint.pt"), "wb") as f:
                f.write(b"PK" + bytes(1000))
            status, said = run("--out", folder, "--resume")
        self.assertEqual(status, 1)
        self.assertRegex(said, "not a checkpoint of this trainer")

    def test_refuses_what_is_no_checkpoint(self):
        self.refused("not a readable safetensors", "--from", __file__)


if __name__ == "__main__":
    unittest.main()
