# SPDX-License-Identifier: MIT
import os
import tempfile
import unittest

import bank
import cv2
import data
import losses
import measures
import model
import numpy as np
import outlines
import torch

SEED = 5


def picture(seed):
    """A rough red disc with a handle over rough green ground, RGB at SIZE, and its mask."""
    rng = np.random.default_rng(seed)
    w, h = outlines.SIZE
    mask = np.zeros((h, w), np.uint8)
    cv2.circle(mask, (180, 100), 42, 1, -1)
    cv2.line(mask, (200, 100), (262, 128), 1, 15)
    rough = cv2.resize(rng.normal(0, 18, (h // 6, w // 6, 3)), (w, h))
    colour = np.where(mask[..., None] > 0, (170, 80, 60), (70, 120, 80)) + rough
    return np.clip(colour, 0, 255).astype(np.uint8), mask > 0


class Outlines(unittest.TestCase):
    def test_a_rough_region_is_drawn_to_the_edges(self):
        colour, truth = picture(SEED)
        rng = np.random.default_rng(SEED)
        rough = cv2.dilate(truth.astype(np.uint8), np.ones((9, 9), np.uint8)) > 0
        rough[:70] = False  # and a part is missing
        self.assertLess(measures.region(rough, truth), 0.8)
        found = outlines.believable(colour, rough, rng)
        self.assertIsNotNone(found)
        # The smoothing of tidy() rounds corners.
        self.assertGreater(measures.region(found, truth), 0.93)

    def test_a_box_finds_what_is_in_it(self):
        colour, truth = picture(SEED)
        found = outlines.in_box(colour, outlines.widened(outlines.bounds(truth), 0.1))
        # At half the size.
        self.assertGreater(measures.region(found, truth), 0.85)

    def test_a_region_of_even_ground_is_not_believed(self):
        colour, truth = picture(SEED)
        even = np.zeros_like(truth)
        even[120:190, 20:100] = True
        even[120:150, 20:60] = False
        self.assertIsNone(outlines.believable(colour, even, np.random.default_rng(SEED)))
        self.assertLess(outlines.on_edges(colour, even), 0.3)
        self.assertGreater(outlines.on_edges(colour, truth), 0.95)

    def test_what_fills_its_box_or_leaves_the_frame_is_no_thing(self):
        _, truth = picture(SEED)
        self.assertTrue(outlines.shapely(truth))
        full, cut = np.zeros_like(truth), np.roll(truth, 200, 1)
        full[50:120, 100:220] = True
        cut[:, :60] = False
        self.assertFalse(outlines.shapely(full))
        self.assertFalse(outlines.shapely(cut))

    def test_kept_for_the_same_videos_only(self):
        colour, truth = picture(SEED)
        videos = [np.stack([colour] * 3)]
        found = [(0, truth, True), (2, np.flipud(truth), False)]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "outlines.npz")
            self.assertIsNone(outlines.load(path, videos))
            outlines.save(path, videos, found)
            again = outlines.load(path, videos)
            self.assertIsNone(outlines.load(path, videos * 2))
        self.assertEqual([(t, k) for t, _, k in again], [(0, True), (2, False)])
        for (_, a, _), (_, b, _) in zip(found, again):
            np.testing.assert_array_equal(a, b)


class Pictures(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        torch.manual_seed(SEED)
        colour, cls.truth = picture(SEED)
        frame = cv2.resize(colour, (bank.WIDTH, bank.HEIGHT), interpolation=cv2.INTER_LINEAR)
        drawn = bank.shared_outlines([(1, cls.truth, True)])
        cls.bank = bank.Bank(bank.shared([np.stack([frame] * 2)]), None, "cpu", outlines=drawn)

    def test_the_camera_looks_at_the_outline(self):
        """In most pictures at least half of the thing is in view, and the mask lies on it: red, not green."""
        make = data.Generator(self.bank, 64, "cpu")
        _, frames, maps = make.backdrop(24, 1)
        masks = maps[:, 0, 0] > 0.5
        self.assertGreater((masks.sum((1, 2)) > 60).float().mean(), 0.8)
        redder = (frames[:, 0, 0] - frames[:, 0, 1])[masks]
        self.assertGreater((redder > 0).float().mean(), 0.95)
        self.assertFalse((maps[:, 0, 1] > 0).any())  # this frame has no second outline

    def test_compact_things_come_less_often(self):
        disc = cv2.circle(np.zeros(self.truth.shape, np.uint8), (180, 100), 42, 1, -1) > 0
        both = torch.from_numpy(np.stack([disc, self.truth]))
        # A circle of pixels; the handle of the other widens its box.
        self.assertAlmostEqual(bank.filled(both)[0].item(), np.pi / 4, delta=0.03)
        drawn = bank.shared_outlines([(0, disc, True), (1, self.truth, True)])
        one = bank.Bank(bank.shared([np.zeros((2, bank.HEIGHT, bank.WIDTH, 3), np.uint8)]), None, "cpu", outlines=drawn)
        self.assertLess(one.weights[0], 0.6 * one.weights[1])

    def test_other_ground_lies_behind_things(self):
        torch.manual_seed(SEED)
        make = data.Generator(self.bank, 64, "cpu")
        frames, things = torch.full((16, 1, 3, 64, 64), 300.0), torch.zeros(16, 1, 1, 64, 64)
        things[..., 20:40, 20:40] = 1
        self.assertTrue((make.ground(frames, things, share=0.0) == frames).all())
        changed = (make.ground(frames, things, share=1.0) - frames).abs().amax(2, keepdim=True) > 20
        self.assertFalse(changed[things > 0].any())
        # Of the rest, neither next to nothing nor all.
        part = changed[things == 0].float().mean()
        self.assertTrue(0.25 < part < 0.9, part)
        # What crosses a box goes on outside of it.
        middle = changed[:, 0, 0, :, 20:40].any((1, 2)).float().mean()
        self.assertGreater(middle, 0.8)

    def test_what_touches_and_moves_alike_is_joined(self):
        near, far = np.zeros((2, *self.truth.shape), bool)
        near[60:140, 225:300], far[150:180, 20:60] = True, True
        frames = bank.shared([np.zeros((1, bank.HEIGHT, bank.WIDTH, 3), np.uint8)])
        for other, moves, touching in ((near, True, True), (near, False, False), (far, True, False)):
            drawn = bank.shared_outlines([(0, self.truth, True), (0, other, moves)])
            one = bank.Bank(frames, None, "cpu", outlines=drawn)
            whole = torch.from_numpy(self.truth | other)
            _, joined = one.outlined(4, joined=1.0)
            _, apart = one.outlined(4, joined=0.0)
            self.assertEqual([bool((m.bool() == whole).all()) for m in joined[:, 0, 0]], [touching] * 4)
            self.assertFalse(any((m.bool() == whole).all() for m in apart[:, 0, 0]))

    def test_cut_out_along_the_outline(self):
        make = data.Generator(self.bank, 64, "cpu", tinted=0)
        sheet = make.cutout(2, 1)
        self.assertEqual(sheet.shape, (2, 1, 4, data.CANVAS, data.CANVAS))
        inside = sheet[:, :, 3] > 1
        red = sheet[:, :, 0] > sheet[:, :, 1]
        self.assertGreater((red == inside).float().mean(), 0.97)

    def test_single_pictures_teach_encoder_and_decoder(self):
        net = model.build(dict(model.NANO, image_size=64, trunk=dict(model.NANO["trunk"], window_spec=[8, 4, 4, 2])))
        make = data.Generator(self.bank, 64, "cpu")
        for mended in (0, 2):
            net.zero_grad(set_to_none=True)
            cost, ious, seen = losses.stills(net, make(3, 1), mended)
            cost.backward()
            self.assertTrue(torch.isfinite(cost))
            self.assertEqual((ious.shape, seen.shape), ((6, 2), (6, 2)))
            self.assertGreater(seen.sum(0).min(), 0)
            reached = {n.split(".")[0] for n, p in net.named_parameters() if p.grad is not None and p.grad.any()}
            self.assertLessEqual({"vision_encoder", "mask_decoder", "prompt_encoder"}, reached)


if __name__ == "__main__":
    unittest.main()
