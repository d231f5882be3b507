# SPDX-License-Identifier: MIT
"""Which frames of a folder of videos are kept."""

import os
import tempfile
import unittest

import bank
import cv2
import numpy as np
import torch
import train

MIB = bank.HEIGHT * bank.WIDTH * 3 / 2**20


def write_video(path, count):
    """A video that grows lighter from black to white."""
    out = cv2.VideoWriter(path, cv2.VideoWriter_fourcc(*"MJPG"), 25, (64, 36))
    for t in range(count):
        out.write(np.full((36, 64, 3), round(255 * t / (count - 1)), np.uint8))
    out.release()


class Pieces(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        for name, count in (("long.avi", 400), ("short.avi", 40)):
            write_video(os.path.join(cls.folder.name, name), count)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_long_videos_give_pieces_from_everywhere(self):
        videos, names = bank.load_videos(self.folder.name, 2 * 75 * MIB)
        self.assertEqual(names, ["long.avi"] * 3 + ["short.avi"])
        self.assertEqual([len(v) for v in videos], [bank.PIECE] * 3 + [20])
        light = [v.mean((1, 2, 3)) for v in videos]
        for piece in light:
            self.assertTrue((np.diff(piece) > 0).all())
        # From black, from a third and from two thirds of the way on.
        np.testing.assert_allclose([p[0] for p in light], [0, 85, 170, 0], atol=4)

    def test_the_frames_of_a_video_are_kept_apart(self):
        videos, names = bank.load_videos(self.folder.name, 2 * 75 * MIB)
        apart = train.frames_apart("short.avi", videos, names)
        self.assertEqual(apart, set(range(3 * bank.PIECE, 3 * bank.PIECE + 20)))
        self.assertEqual(len(train.frames_apart("long.avi", videos, names)), 3 * bank.PIECE)
        self.assertEqual(len(train.frames_apart(None, videos, names)), 0)
        with self.assertRaisesRegex(train.Refused, "there are long.avi, short.avi"):
            train.frames_apart("none.avi", videos, names)


class Outlines(unittest.TestCase):
    def test_kinds_are_used_as_often_as_stated(self):
        """However many there are of each; within a kind those that fill their box less."""
        kinds = torch.tensor([bank.STANDS] * 100 + [bank.MOVES] * 5 + [bank.RENDERED] * 1000 + [bank.ANNOTATED] * 20)
        weights = bank.weights_of(kinds, torch.full((len(kinds),), 0.5))
        for kind, share in bank.SHARES.items():
            self.assertAlmostEqual(weights[kinds == kind].sum().item(), share, 5)
        uneven = bank.weights_of(torch.tensor([True, True, False]), torch.tensor([0.9, 0.6, 1.0]))
        self.assertAlmostEqual((uneven[1] / uneven[0]).item(), 4, 4)
        self.assertGreater(uneven[2].item(), 0)

    def test_tracks_are_used_as_often_as_stated(self):
        """However many there are of each kind, and in which order."""
        frames = bank.shared([np.zeros((9, bank.HEIGHT, bank.WIDTH, 3), np.uint8)])
        masks = np.full((9, 4, 4), 255, np.uint8)
        counts = {bank.MOVES: 7, bank.ANNOTATED: 1, bank.STANDS: 3, bank.RENDERED: 2}
        found = [(kind, (masks - kind).astype(np.uint8), kind) for kind, count in counts.items() for _ in range(count)]
        one = bank.Bank(frames, bank.shared_tracks(found), "cpu")
        torch.manual_seed(5)
        drawn = [255 - one.followed(3)[1].max().item() for _ in range(2000)]
        for kind, share in bank.SHARES.items():
            self.assertAlmostEqual(drawn.count(kind) / 2000, share, delta=0.04)
        moving = {255 - one.followed(3, movers=True)[1].max().item() for _ in range(200)}
        self.assertEqual(moving, {bank.MOVES, bank.RENDERED, bank.ANNOTATED})

    def test_whole_things_that_touch_stay_apart(self):
        masks = np.zeros((2, 40, 60), bool)
        masks[0, 5:35, 5:30], masks[1, 5:35, 30:55] = True, True
        frames = bank.shared([np.zeros((1, bank.HEIGHT, bank.WIDTH, 3), np.uint8)])
        torch.manual_seed(3)
        for kind in (bank.MOVES, bank.RENDERED, bank.ANNOTATED):
            found = bank.shared_outlines([(0, m, kind) for m in masks])
            shown = bank.Bank(frames, None, "cpu", outlines=found).outlined(40)[1][:, 0, 0]
            joined = (shown.sum((1, 2)) > masks[0].sum()).sum().item()
            self.assertEqual(joined > 0, kind == bank.MOVES, joined)


if __name__ == "__main__":
    unittest.main()
