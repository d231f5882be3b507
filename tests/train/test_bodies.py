# SPDX-License-Identifier: MIT
"""Bodies made by a simulator: what is kept of them, and, where mujoco is installed, what they look like."""

import os
import tempfile
import unittest

import bank
import bodies
import numpy as np
import outlines
import tracks

SEED = 3
FRAMES = 8

os.environ.setdefault("MUJOCO_GL", "osmesa")
try:
    import mujoco
except (ImportError, AttributeError):  # the latter without libosmesa
    mujoco = None


def drawn(rng, things=2):
    """(pictures, label maps) of squares that slide over noise, each in a colour of its own."""
    pictures = rng.integers(50, 80, (FRAMES, bank.HEIGHT, bank.WIDTH, 3), np.uint8)
    labels = np.full(pictures.shape[:3], -1, np.int16)
    for i in range(things):
        for t in range(FRAMES):
            box = slice(60 + 100 * i, 120 + 100 * i), slice(40 + 20 * t, 120 + 20 * t)
            labels[(t, *box)], pictures[(t, *box)] = i, (200, 60 + 90 * i, 30)
    return pictures, labels


class Kept(unittest.TestCase):
    def test_a_file_gives_back_videos_tracks_and_outlines(self):
        """Masks to the bit, on the frames they belong to, behind the frames of other videos."""
        rng = np.random.default_rng(SEED)
        made = []
        for _ in range(2):
            pictures, labels = drawn(rng)
            made.append((pictures, bodies.regions(labels)))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "bodies.npz")
            bodies.save(path, made)
            videos, found, lines = bodies.load(path, 100)
        self.assertEqual([v.shape for v in videos], [(FRAMES, bank.HEIGHT, bank.WIDTH, 3)] * 2)
        self.assertLess(np.abs(videos[1].astype(int) - made[1][0]).mean(), 12)  # JPEG
        self.assertEqual([t for t, _, _ in found], [100, 100, 100 + FRAMES, 100 + FRAMES])
        wanted = [m for _, masks in made for m in masks]
        for (_, masks, moves), mask in zip(found, wanted):
            self.assertEqual(masks.shape, (FRAMES, tracks.MAP[1], tracks.MAP[0]))
            self.assertTrue(moves and ((masks == 255) == mask).all() and set(np.unique(masks)) == {0, 255})
        for t, mask, _ in lines:
            self.assertEqual(mask.shape, outlines.SIZE[::-1])
            v, local = divmod(t - 100, FRAMES)
            picture = bodies.cv2.resize(videos[v][local], outlines.SIZE, interpolation=bodies.cv2.INTER_AREA)
            self.assertGreater(picture[mask][:, 0].mean(), 180)
            self.assertLess(picture[~mask][:, 0].mean(), 80)
        self.assertEqual(len(lines), 4 * len(range(0, FRAMES, 4)))

    def test_another_file_is_refused_in_one_sentence(self):
        with self.assertRaisesRegex(bank.BankError, "not a file of bodies"):
            bodies.load(__file__, 0)

    def test_small_and_huge_regions_are_left_out(self):
        labels = np.full((FRAMES, bank.HEIGHT, bank.WIDTH), 0, np.int16)
        labels[:, :12, :12] = 1  # 0.1 %
        labels[:, 100:140, 100:180] = 2
        found = bodies.regions(labels)
        self.assertEqual([m[0].sum() for m in found], [20 * 40])

    def test_shadows_darken_footage(self):
        picture = np.full((20, 20, 3), 200, np.uint8)
        picture[5:10] = 100
        picture[15:] = 7
        thing, solid = np.zeros((2, 20, 20), bool)
        thing[15:], solid[2:] = True, True
        shown = bodies.over(np.full((20, 20, 3), 150, np.uint8), picture, thing, solid)
        self.assertEqual([shown[y, 9, 0] for y in (0, 3, 7, 12, 17)], [150, 150, 75, 150, 7])


class Going(unittest.TestCase):
    def path(self, seed, leaves):
        rng = np.random.default_rng(seed)
        return bodies.Path(rng, (0.0, 0.0), 1.0, 0.05, ["a", "b"], True, leaves, 24)

    def test_what_leaves_is_away_for_a_third_and_returns_elsewhere(self):
        for seed in range(20):
            path = self.path(seed, True)
            far = [np.hypot(*path.at(t)[:2]) > 2 * bodies.VIEW for t in range(24)]
            self.assertGreaterEqual(sum(far), 24 // 3 - 4, seed)
            self.assertFalse(far[0] or far[1] or far[2])
            self.assertGreater(np.hypot(*path.back), 0)
        self.assertFalse(any(np.hypot(*self.path(1, False).at(t)[:2]) > bodies.VIEW for t in range(24)))


@unittest.skipIf(mujoco is None, "mujoco and libosmesa6 are not installed")
class Rendered(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.clips = [bodies.clip(bank.invent(SEED), seed, 2) for seed in (0, 3)]

    def test_things_and_parts_are_told_apart(self):
        for pictures, things, parts in self.clips:
            self.assertEqual(pictures.shape, (2, bank.HEIGHT, bank.WIDTH, 3))
            self.assertGreaterEqual(things.max(), 0)
            self.assertGreater(pictures.std(), 5)
            # A part belongs to one thing.
            for part in range(parts.max() + 1):
                owners = np.unique(things[parts == part])
                self.assertTrue(len(owners) <= 1 and (owners >= 0).all(), (part, owners))

    def test_one_seed_gives_one_clip(self):
        again = bodies.clip(bank.invent(SEED), 0, 2)
        self.assertTrue((again[1] == self.clips[0][1]).all())


if __name__ == "__main__":
    unittest.main()
