# SPDX-License-Identifier: MIT
import json
import os
import tempfile
import unittest

import evaluate
import measures
import numpy as np
from safetensors.numpy import save_file


def disc(x, y, r, shape=(120, 160)):
    yy, xx = np.ogrid[: shape[0], : shape[1]]
    return (xx - x) ** 2 + (yy - y) ** 2 <= r * r


class Side(unittest.TestCase):
    def test_of_two_that_of_quick_devices(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.safetensors")
            for config, wanted in (({"image_size": 320}, 320), ({"image_size": 320, "image_size_bf16": 448}, 448), ({}, 0)):
                save_file({"a": np.zeros(3, np.float32)}, path, metadata={"samtrack": json.dumps(config)})
                self.assertEqual(evaluate.side_of(path), wanted)
            save_file({"a": np.zeros(3, np.float32)}, path)
            self.assertEqual(evaluate.side_of(path), 0)
            with open(path, "wb") as f:
                f.write(b"PK\x03\x04 a checkpoint of another kind")
            self.assertEqual(evaluate.side_of(path), 0)
            self.assertEqual(evaluate.side_of(os.path.join(folder, "none")), 0)


class Region(unittest.TestCase):
    def test_known_overlap(self):
        a, b = np.zeros((10, 10), bool), np.zeros((10, 10), bool)
        a[2:6, 2:6], b[2:6, 4:8] = True, True
        self.assertAlmostEqual(measures.region(a, b), 8 / 24)

    def test_both_empty(self):
        self.assertEqual(measures.region(np.zeros((4, 4), bool), np.zeros((4, 4), bool)), 1)


class Boundary(unittest.TestCase):
    def brute(self, found, truth, radius):
        """F from all distances between outline pixels, without any dilation."""
        a, b = (np.argwhere(measures.outline(m)) for m in (found, truth))
        far = np.linalg.norm(a[:, None] - b[None], axis=2)
        precision, recall = (far.min(1) <= radius).mean(), (far.min(0) <= radius).mean()
        return 2 * precision * recall / (precision + recall) if precision + recall else 0.0

    def test_against_distances(self):
        rng = np.random.default_rng(7)
        radius = np.ceil(0.008 * np.hypot(120, 160))
        for _ in range(12):
            truth = disc(*rng.uniform(30, 90, 2), rng.uniform(8, 25))
            found = disc(*rng.uniform(30, 90, 2), rng.uniform(8, 25)) | disc(80, 60, 6)
            self.assertAlmostEqual(measures.boundary(found, truth), self.brute(found, truth, radius), 9)

    def test_within_tolerance_is_perfect(self):
        self.assertEqual(measures.boundary(disc(60, 60, 20), disc(61, 60, 20)), 1)

    def test_one_empty(self):
        self.assertEqual(measures.boundary(np.zeros((120, 160), bool), disc(60, 60, 20)), 0)


class Clicks(unittest.TestCase):
    def test_the_innermost_point_and_one_near_it(self):
        for x, y, r in ((60, 50, 30), (100, 70, 12), (40, 40, 5)):
            mask = disc(x, y, r)
            self.assertLessEqual(np.hypot(*np.subtract(evaluate.point_of(mask), (x, y))), 1.5)
            off = np.hypot(*np.subtract(evaluate.near_of(mask), (x, y)))
            self.assertTrue(0 < off <= r / 2 + 1.5, off)
            self.assertEqual(evaluate.near_of(mask), evaluate.near_of(mask.copy()))

    def test_the_frame_ends_a_thing(self):
        """Half of a disc is seen: its middle is not on the frame's edge."""
        x, y = evaluate.point_of(disc(0, 60, 40))
        self.assertGreater(x, 10)
        self.assertAlmostEqual(y, 60, delta=2)


if __name__ == "__main__":
    unittest.main()
