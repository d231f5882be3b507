# SPDX-License-Identifier: MIT
"""Predicted and real IoU: the tenths, the curve, the frames that count, the clicks of a contact sheet."""

import contextlib
import functools
import io
import json
import os
import tempfile
import unittest
from unittest import mock

import calibration
import choice
import contact_sheet
import cv2
import evaluate
import model
import numpy as np
import torch
import tracker

SEED = 41


def moving(count):
    """Frames u8 (T, 60, 80, 3) of a red square that goes to the right on grey, and its masks u8 (T, 60, 80): 255 or 0."""
    frames, masks = np.full((count, 60, 80, 3), 90, np.uint8), np.zeros((count, 60, 80), np.uint8)
    for t in range(count):
        frames[t, 20:40, 10 + 3 * t : 30 + 3 * t] = (255, 0, 0)
        masks[t, 20:40, 10 + 3 * t : 30 + 3 * t] = 255
    return frames, masks


class Curve(unittest.TestCase):
    def test_tenths(self):
        rows = calibration.tenths([(0.05, 0.2), (0.31, 0.5), (0.39, 0.1), (1.0, 0.9)])
        self.assertEqual([n for n, *_ in rows], [1, 0, 0, 2, 0, 0, 0, 0, 0, 1])
        self.assertEqual(rows[3], (2, 0.35, 0.3))
        self.assertEqual(rows[1], (0, None, None))

    def test_the_worst_tenth_that_has_answers_enough(self):
        pairs = [(0.55, 0.5)] * 20 + [(0.85, 0.6)] * 20 + [(0.15, 0.9)] * 19
        self.assertAlmostEqual(calibration.off(calibration.tenths(pairs)), 0.25)
        self.assertIsNone(calibration.off(calibration.tenths(pairs[-5:])))

    def test_a_curve_is_fitted(self):
        """Answers that are as good as the square of what is predicted, and a tenth without any."""
        dice = np.random.default_rng(SEED)
        predicted = dice.uniform(0.3, 1, 4000)
        curve = calibration.fitted(list(zip(predicted, predicted**2 + dice.normal(0, 0.05, 4000))))
        self.assertEqual(len(curve), 11)
        self.assertEqual(curve, sorted(curve))
        for i in range(4, 11):
            # Knots of lines through a parabola lie a little below it; then noise and the pull of 5 answers.
            self.assertAlmostEqual(curve[i], (i / 10) ** 2, delta=0.015)
        self.assertEqual(curve[0], 0)
        config = {"told_iou": {"tracked": curve}}
        self.assertAlmostEqual(tracker.told_iou(config, 0.85, "tracked"), (curve[8] + curve[9]) / 2)
        self.assertEqual(tracker.told_iou(config, 0.85, "clicks"), 0.85)
        self.assertEqual(tracker.told_iou(config, 1.0, "tracked"), 1.0)

    def test_the_file_is_fitted_to_all_and_each_is_told_by_the_others(self):
        torch.manual_seed(SEED)
        real = {"clicks": 0.6, "boxes": 0.7, "tracked": 0.4}
        groups = {k: [[(0.65, v)] * 1000, [(0.65, 0.1)] * 1000] for k, v in real.items()}
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
            path = os.path.join(folder, "m.safetensors")
            small = model.sized(model.NANO, 64)
            found = calibration.fit(model.build(small), small, groups, path)
            config = model.read(path)[0]
        for kind, wanted in real.items():
            self.assertEqual([len(g) for g in found[kind]], [1000, 1000])
            self.assertEqual([g[0][1] for g in found[kind]], [wanted, 0.1])
            # Each is told what the other one is; the pull of 5 answers, and tenths that do not fall, are the difference.
            self.assertAlmostEqual(found[kind][1][0][0], wanted, delta=0.03)
            self.assertAlmostEqual(found[kind][0][0][0], 0.1, delta=0.03)
            self.assertAlmostEqual(tracker.told_iou(config, 0.65, kind), (wanted + 0.1) / 2, delta=0.03)

    def test_points_lie_where_their_means_are(self):
        """A tenth that came out as predicted lies on the diagonal, one with few answers is hollow."""
        image = calibration.plot("t", calibration.tenths([(0.5, 0.5)] * 30 + [(0.9, 0.1)] * 3), (30, 110, 220))

        def at(x, y):
            low, high = calibration.ROOM, calibration.SIDE - calibration.ROOM // 2
            return image[int(calibration.SIDE - low - y * (high - low)), int(low + x * (high - low))].tolist()

        self.assertEqual(at(0.5, 0.5), [30, 110, 220])
        self.assertEqual(at(0.9, 0.1), [255, 255, 255])

    def test_frames_count_where_a_mask_is_shown(self):
        frames, masks = moving(6)
        truths = [m > 0 for m in masks]
        truths[2] = None  # no truth is known
        shown = [truths[0], truths[1], truths[1], np.zeros((60, 80), bool), truths[4], ~truths[5]]

        class Scripted:
            told = 0.7

            def __init__(self, net):
                self.left = list(shown)

            def prompt_points(self, *given):
                return torch.from_numpy(self.left.pop(0))

            def track(self, image):
                return torch.from_numpy(self.left.pop(0))

        with mock.patch.object(tracker, "Tracker", Scripted):
            masks = functools.partial(calibration.torch_masks, None)
            pairs = calibration.of_clip(masks, list(zip(frames, truths)), "point")
            self.assertEqual(pairs, [(0.7, 1.0), (0.7, 1.0), (0.7, 0.0)])
            shown[0] = ~truths[0]  # another thing
            self.assertEqual(calibration.of_clip(masks, list(zip(frames, truths)), "point"), [])


class Expected(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        torch.manual_seed(SEED)
        cls.net = model.build(model.sized(model.NANO, 64)).eval()

    def test_what_is_expected_is_of_the_mask_that_is_kept(self):
        one, dice = tracker.Tracker(self.net), np.random.default_rng(SEED)
        masks = torch.from_numpy(dice.normal(size=(1, 4, 16, 16)).astype(np.float32))
        sure = masks.clone()
        sure[:, 0] = torch.where(sure[:, 0] > 0, 9.0, -9.0)
        ious, score = torch.tensor([[0.2, 0.3, 0.8, 0.5]]), torch.ones(1, 1)
        for given, multi, wanted in ((masks, True, 0.8), (sure, False, 0.2), (masks * 0.05, False, 0.8)):
            one._chosen((given, ious, torch.zeros(1, 4, 128), score), multi)
            self.assertAlmostEqual(one.expected, wanted, places=6)

    def test_tracked_answers_are_judged_against_their_frames(self):
        """Every tracked frame that has the thing gives a row: the head's input, and the IoU of all four masks."""
        frames, masks = moving(5)
        masks[3] = 0
        masks[4, :, :20] = 128  # unknown: no mistake there
        given = [torch.full((1, 4, 16, 16), -9.0) for _ in range(4)]
        for t, g in enumerate(given, 1):
            whole = torch.from_numpy(masks[t] == 255)[None, None]
            g[:, 2] = torch.where(tracker.resize(whole, (16, 16))[0, 0] > 0.5, 9.0, -9.0)
        given[3][:, 2, :, :4] = 9.0
        left = list(given)
        keep = choice.Noting._chosen

        def scripted(one, out, multi):
            if multi and one.prompted:
                return keep(one, (left.pop(0), *out[1:]), multi)
            return keep(one, out, multi)

        with mock.patch.object(choice.Noting, "_chosen", scripted), torch.no_grad():
            seen, real, alone = choice.tracked(self.net, frames, masks, "box")
        self.assertEqual((seen.shape, real.shape, alone.any().item()), ((3, 128), (3, 4), False))
        self.assertTrue((real[:, 2] > 0.75).all(), real)
        self.assertEqual(real[:, (0, 1, 3)].abs().sum(), 0)

    def test_further_things_of_a_picture_are_the_largest_others(self):
        labels = np.zeros((100, 100), np.uint8)
        for n, (y, x, side) in enumerate([(0, 0, 40), (0, 50, 20), (30, 50, 10), (60, 0, 8), (80, 80, 2), (60, 50, 30)], 1):
            labels[y : y + side, x : x + side] = n
        labels[95:, :60] = 255  # unknown
        self.assertEqual(calibration.things_of(labels, 2), [1, 4])  # the largest, and the smallest that is not tiny
        self.assertEqual(calibration.things_of(labels, 4), [1, 4, 6, 2])
        self.assertEqual(calibration.things_of(labels, 9), [1, 4, 6, 2, 3])  # 4 px of 10000 are less than 0.05 %


class Sheet(unittest.TestCase):
    def test_a_click_goes_where_the_list_says(self):
        frames, masks = moving(9)
        asked = []

        class Scripted:
            def masks(self, given, kind, first):
                asked.append((kind, evaluate.point_of(first), len(given)))
                return [m > 0 for m in masks]

        with tempfile.TemporaryDirectory() as folder:
            os.makedirs(f"{folder}/square/frames")
            for t, frame in enumerate(frames):
                cv2.imwrite(f"{folder}/square/frames/{t:02d}.jpg", frame)
            image, said = contact_sheet.clicked(Scripted(), f"{folder}/square", 0.25, 0.5, 1000)
        self.assertEqual(asked, [("point", (20, 30), 9)])
        width, height = contact_sheet.TILE
        self.assertEqual(image.shape, (height, contact_sheet.COLUMNS * width, 3))
        self.assertEqual(said["area"][0], round(400 / 4800, 4))
        self.assertEqual(image[height // 2, width // 4].tolist(), [255, 40, 40])

    def test_refuses_what_is_no_list_of_clicks(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "c.json")
            for text in ("{", "[]", '[["a", 1.5, 0.2]]', '[["a", 0.1]]'):
                with open(path, "w") as f:
                    f.write(text)
                with self.assertRaises(evaluate.Refused):
                    contact_sheet.clicks_of(path)
        with open(os.path.join(os.path.dirname(contact_sheet.__file__), "clicks.json")) as f:
            self.assertEqual(len(json.load(f)), 8)


if __name__ == "__main__":
    unittest.main()
