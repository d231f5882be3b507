"""Which frames of a folder of videos are kept."""

import os
import tempfile
import unittest

import bank
import cv2
import numpy as np
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


if __name__ == "__main__":
    unittest.main()
