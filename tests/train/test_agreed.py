# SPDX-License-Identifier: MIT
"""Runs there and back, with a stand-in for the network that follows a colour."""

import unittest
from unittest import mock

import agreed
import bank
import numpy as np
import outlines
import tracks

SEED = 41
RED = (200, 40, 40)


def video(count=10, lost=None):
    """A red square that goes right by 16 pixels a frame; from frame `lost` on it is a blue one instead."""
    frames = np.full((count, bank.HEIGHT, bank.WIDTH, 3), 90, np.uint8)
    for t, frame in enumerate(frames):
        frame[100:180, 40 + 16 * t : 120 + 16 * t] = RED if lost is None or t < lost else RED[::-1]
    return frames


def outline(t):
    """Where the square is in frame t, at the size of outlines."""
    mask = np.zeros(outlines.SIZE[::-1], bool)
    mask[75:135, 30 + 12 * t : 90 + 12 * t] = True
    return mask


class Follower:
    """Takes what is red now; with `drift`, one pixel more to the left in every frame."""

    drift = 0

    def __init__(self, net):
        self.frames = 0

    def prompt_mask(self, image, mask):
        return mask

    def track(self, image):
        self.frames += 1
        red = image[0, 0] > image[0, 2]
        return red | red.roll(-self.drift * self.frames, 1)


class Agreeing(unittest.TestCase):
    def setUp(self):
        replaced = mock.patch("tracker.Tracker", Follower)
        replaced.start()
        self.addCleanup(replaced.stop)

    def test_a_run_that_comes_home_is_kept_whole(self):
        masks = agreed.there_and_back(None, video(), outline(0))
        self.assertEqual(masks.shape, (10, tracks.MAP[1], tracks.MAP[0]))
        for t, mask in enumerate(masks):
            columns = np.nonzero((mask == 255).any(0))[0]
            self.assertEqual((columns.min(), columns.max() + 1), (20 + 8 * t, 60 + 8 * t))

    def test_where_the_ways_differ_nobody_knows(self):
        with mock.patch.object(Follower, "drift", 2):
            masks = agreed.there_and_back(None, video(), outline(0))
        self.assertTrue((masks[0] != tracks.UNKNOWN).all())
        self.assertTrue((masks[5] == tracks.UNKNOWN).any())
        self.assertTrue((masks[5][60:80, 65:95] == 255).all())  # both ways agree on the square

    def test_what_does_not_come_home_is_dropped(self):
        with mock.patch.object(Follower, "drift", 6):
            self.assertIsNone(agreed.there_and_back(None, video(), outline(0)))

    def test_what_is_lost_is_asked_back_from_where_it_was_seen(self):
        masks = agreed.there_and_back(None, video(lost=6), outline(0))
        self.assertEqual(len(masks), 6)
        self.assertIsNone(agreed.there_and_back(None, video(lost=2), outline(0)))

    def test_frames_are_numbered_over_all_videos(self):
        """Forwards where more frames follow, backwards otherwise, and in the order of time in the file."""
        found = [(1, outline(1), True), (10 + 9, outline(9), False)]
        print(f"seed {SEED}")
        kept = agreed.of_videos(None, [video(), video()], found, each=2, steps=8, seed=SEED)
        self.assertEqual([(t, len(m), k) for t, m, k in kept], [(1, 8, True), (12, 8, False)])
        for start, masks, _ in kept:
            for t, mask in enumerate(masks, start % 10):
                self.assertEqual(np.nonzero((mask == 255).any(0))[0].min(), 20 + 8 * t)


if __name__ == "__main__":
    unittest.main()
