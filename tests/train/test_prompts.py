# SPDX-License-Identifier: MIT
"""Prompts as people give them, and what their answers cost."""

import unittest

import cv2
import losses
import numpy as np
import prompts
import torch

SEED = 17
SIDE = 128


def things(count, seed=SEED):
    """Masks (count, 1, SIDE, SIDE) of ellipses, large and small, some with a thin arm; and hairs one pixel wide."""
    rng, masks = np.random.default_rng(seed), np.zeros((count, SIDE, SIDE), np.uint8)
    for i, mask in enumerate(masks):
        centre = tuple(int(v) for v in rng.integers(20, SIDE - 20, 2))
        if i % 8 == 7:
            cv2.line(mask, centre, (centre[0], centre[1] + 12), 1)
            continue
        axes = tuple(int(v) for v in rng.integers(4, 30, 2))
        cv2.ellipse(mask, centre, axes, int(rng.integers(180)), 0, 360, 1, -1)
        if i % 2:
            cv2.line(mask, centre, tuple(int(v) for v in rng.integers(0, SIDE, 2)), 1, 2)
    return torch.from_numpy(masks).float()[:, None]


def depths(masks, points):
    """The distance to the outside of each point as a share of its mask's largest, by OpenCV."""
    found = []
    for mask, (x, y) in zip(masks[:, 0].numpy().astype(np.uint8), points[:, 0].long()):
        distance = cv2.distanceTransform(np.pad(mask, 1), cv2.DIST_L2, cv2.DIST_MASK_PRECISE)[1:-1, 1:-1]
        found.append(distance[y, x] / distance.max())
    return np.array(found)


class Clicks(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(SEED)
        print(f"seed {SEED}")

    def test_every_click_is_on_its_thing(self):
        masks = things(64)
        for _ in range(8):
            points, labels = prompts.click(masks)
            self.assertEqual((points.shape, labels.shape), ((64, 1, 2), (64, 1)))
            x, y = points[:, 0].long().unbind(1)
            self.assertTrue((masks[torch.arange(64), 0, y, x] == 1).all())
            self.assertTrue((labels == 1).all())

    def test_clicks_lie_everywhere_and_mostly_near_the_middle(self):
        masks = things(400)
        found = depths(masks, prompts.click(masks)[0])
        for low, high, least in ((0.0, 0.3, 0.06), (0.3, 0.7, 0.15), (0.7, 0.95, 0.2), (0.95, 1.01, 0.08)):
            self.assertGreater(((low <= found) & (found < high)).mean(), least, (low, high))
        self.assertGreater(np.median(found), 0.6)

    def test_a_power_brings_them_to_the_middle(self):
        masks = things(200)
        middle, anywhere = (depths(masks, prompts.click(masks, power)[0]).mean() for power in (64.0, 0.0))
        print(f"mean depth {middle:.2f} with power 64, {anywhere:.2f} with 0")
        self.assertGreater(middle, 0.75)
        self.assertLess(anywhere, 0.6)

    def test_boxes_are_exact_shaken_or_sloppy(self):
        mask = torch.zeros(1, 1, SIDE, SIDE)
        mask[:, :, 40:80, 30:110] = 1
        corners, labels = prompts.box(mask.expand(600, -1, -1, -1))
        self.assertEqual(labels[0].tolist(), [2, 3])
        exact = torch.tensor(((30.0, 40.0), (110.0, 80.0)))
        off = ((corners - exact).abs() / torch.tensor((80.0, 40.0))).amax((1, 2))
        for low, high, share in ((-1, 1e-6, 0.4), (1e-6, 0.1, 0.4), (0.1, 0.2501, 0.2)):
            found = ((low < off) & (off <= high)).float().mean().item()
            # Some of the sloppy ones are near by chance.
            self.assertAlmostEqual(found, share, delta=0.08, msg=(low, high))

    def test_corrections_lie_in_the_largest_mistake(self):
        truth = torch.zeros(40, 32, 32)
        truth[:, 4:20, 4:20] = 1
        found = truth.clone()
        found[:20, 4:20, 12:20] = 0  # half of the thing is missing
        found[20:, 22:30, 20:31] = 1  # a large piece of ground is taken
        found[:, 4:6, 4:6] = 0  # and a small mistake besides
        points, labels = prompts.correction(found - 0.5, truth)
        x, y = points[:, 0].unbind(1)
        inside = (y >= 4) & (y < 20) & (x >= 12) & (x < 20)
        outside = (y >= 22) & (y < 30) & (x >= 20) & (x < 31)
        self.assertTrue(inside[:20].all() and (labels[:20] == 1).all())
        self.assertTrue(outside[20:].all() and (labels[20:] == 0).all())
        points, labels = prompts.correction(truth - 0.5, truth)
        self.assertTrue((labels == 1).all())


class Ambiguity(unittest.TestCase):
    def answer(self, ious):
        """Four masks of one thing: 0 and 2 right, 1 and 3 wrong."""
        truth = torch.zeros(1, 16, 16)
        truth[:, 4:12, 4:12] = 1
        right, wrong = (truth - 0.5) * 60, (truth.roll(5, 1) - 0.5) * 60
        masks = torch.stack((right, wrong, right, wrong), 1).requires_grad_()
        ious = torch.tensor([ious], requires_grad=True)
        one = torch.ones(1)
        cost, _ = losses.decoder_cost(masks, ious, torch.full((1, 1), 30.0), truth, torch.ones_like(truth), one, one)
        cost.backward()
        return cost.item(), masks.grad.abs().sum((0, 2, 3)), ious.grad[0]

    def test_a_good_mask_that_is_not_taken_is_a_mistake(self):
        taken, _, _ = self.answer([0.9, 0.3, 0.9, 0.3])
        missed, _, _ = self.answer([0.9, 0.9, 0.3, 0.3])
        self.assertGreater(missed, taken + 1)

    def test_what_is_taken_is_taught(self):
        """The one that inference keeps, besides the best; the third is left alone."""
        _, masks, ious = self.answer([0.5, 0.5, 0.4, 0.3])
        self.assertGreater(masks[1], 0.01)
        self.assertEqual(masks[3], 0)
        # A step against the gradient makes the right one's prediction rise above the wrong one's.
        self.assertLess(ious[2], ious[1])


if __name__ == "__main__":
    unittest.main()
