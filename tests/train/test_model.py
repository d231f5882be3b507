# SPDX-License-Identifier: MIT
"""The network and the tracker against whole runs of the published code."""

import json
import math
import os
import tempfile
import unittest
import unittest.mock

import cv2
import model
import numpy as np
import torch
import tracker
from safetensors.torch import load_file

GOLDEN = os.path.join(os.environ.get("SAMTRACK_GOLDEN", ""), "nano")
HERE = os.path.dirname(os.path.abspath(__file__))
NANO = os.path.join(HERE, "../../models/samtrack-nano.safetensors")


class Files(unittest.TestCase):
    def test_round_trip_is_exact(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.safetensors")
            model.save(model.load(NANO), path)
            (config, a), (expected, b) = model.read(path), model.read(NANO)
        self.assertEqual(config, expected)
        self.assertEqual(set(a), set(b))
        for name in a:
            self.assertTrue(torch.equal(a[name], b[name]), name)

    def test_another_architecture_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "wide.safetensors")
            model.save(model.build(dict(model.NANO, mem_dim=64)), path)
            with self.assertRaisesRegex(model.ModelError, "has shape .* another architecture"):
                model.load_state(model.build(model.NANO), model.read(path)[1], path)

    def test_not_a_model(self):
        with self.assertRaisesRegex(model.ModelError, "not a readable safetensors"):
            model.read(__file__)


class Forward(unittest.TestCase):
    def test_encode_is_the_modules_own(self):
        net = model.load(NANO).eval()
        images = torch.randn(2, 3, net.image_size, net.image_size, generator=torch.Generator().manual_seed(3))
        with torch.no_grad():
            found = model.encode(net, images)
            fine, middle, coarse = net.vision_encoder(images).fpn_hidden_states
            wanted = net.mask_decoder.conv_s0(fine), net.mask_decoder.conv_s1(middle), coarse
        for a, b in zip(found, wanted):
            # The same sums in another order: a few roundings of fp32.
            self.assertLess((a - b).abs().max() / b.abs().max(), 1e-5)


class Precision(unittest.TestCase):
    def test_bf16_where_it_is_faster(self):
        x = torch.ones(64, 64)
        with model.mixed_precision("cpu", model.fast_type("cpu")):
            kind = (x @ x).dtype
        self.assertEqual(kind, torch.bfloat16 if model.is_bf16_faster() else torch.float32)

    def test_a_slow_cpu_computes_in_fp32(self):
        for fast, kind in ((True, torch.bfloat16), (False, torch.float32)):
            with unittest.mock.patch.object(model, "is_bf16_faster", return_value=fast):
                with model.mixed_precision("cpu", model.fast_type("cpu")):
                    self.assertEqual((torch.ones(4, 4) @ torch.ones(4, 4)).dtype, kind)


class Selection(unittest.TestCase):
    def follow(self, selection, shown, left_out):
        """The masks of those frames of `shown` that have the object; the others are seen, too, or left out."""
        torch.manual_seed(5)
        net = model.build(model.sized(model.NANO | {"memory_selection": selection}, 64))
        frames, masks, decode = torch.randint(0, 256, (len(shown), 1, 3, 64, 64)), [], model.decode
        one = tracker.Tracker(net)
        one.prompt_mask(frames[0], torch.ones(64, 64))
        for frame, present in list(zip(frames, shown))[1:]:
            def with_score(*given, present=present):
                masks, ious, tokens, score = decode(*given)
                return masks, ious, tokens, torch.full_like(score, 1.0 if present else -1.0)

            if present or not left_out:
                with unittest.mock.patch.object(model, "decode", with_score):
                    mask = one.track(frame)
                if present:
                    masks.append(mask)
        return torch.stack(masks)

    def test_frames_without_the_object_leave_no_trace(self):
        shown = (1, 1, 1, 1, 0, 0, 0, 0, 1, 0, 1, 1)
        self.assertTrue(torch.equal(*(self.follow("present", shown, left_out) for left_out in (False, True))))
        self.assertFalse(torch.equal(*(self.follow("all", shown, left_out) for left_out in (False, True))))


class Pieces(unittest.TestCase):
    LAST = (8, 8, 16, 12, 32)  # a box of 8 x 4 places, and its area

    def drawn(self, *squares):
        low = torch.full((1, 32, 32), -3.0)
        for y, x, side in squares:
            low[0, y : y + side, x : x + side] = 2.0
        return low

    def test_far_pieces_go_and_near_ones_stay(self):
        near, corner, far = (9, 9, 3), (12, 12, 3), (9, 20, 3)  # 16 + 8 / 4 + 2 is the first column that is far
        found = tracker.near_of(self.drawn(near, corner, far), self.LAST, 0.25)
        self.assertTrue(torch.equal(found > 0, self.drawn(near, corner) > 0))
        self.assertEqual(found[0, 9, 20].item(), -10)
        kept = self.drawn(near, (9, 19, 3))
        self.assertTrue(torch.equal(tracker.near_of(kept, self.LAST, 0.25), kept))

    def test_a_mask_that_is_nowhere_near_stays(self):
        for squares in ([(9, 24, 3)], [(9, 9, 2), (20, 20, 4)], []):  # 4 places are less than a fifth of 32
            low = self.drawn(*squares)
            self.assertTrue(torch.equal(tracker.near_of(low, self.LAST, 0.25), low))

    def test_boxes(self):
        self.assertEqual(tracker.box_of(self.drawn((3, 5, 2), (10, 6, 1))), (5, 3, 7, 11, 5))
        self.assertIsNone(tracker.box_of(self.drawn()))


class Zoom(unittest.TestCase):
    def test_windows(self):
        for box, zoom, wanted in (
            ((40, 40, 64, 50), 1.5, (36, 28, 36)),
            ((0, 100, 20, 128), 2, (0, 72, 56)),  # the frame ends before
            ((60, 60, 62, 62), 1, (52, 52, 16)),  # the smallest one
        ):
            self.assertEqual(tracker.window_of(box, zoom, 128), wanted)

    def answer(self, zoom, box, frame, net):
        """The logits (1, 32, 32) that a box gets, the object being there."""
        net.samtrack = net.samtrack | {"box_zoom": zoom}
        one, decode = tracker.Tracker(net), model.decode
        x0, y0, x1, y1 = box

        def present(*given):
            masks, ious, tokens, score = decode(*given)
            return masks, ious, tokens, torch.ones_like(score)

        with unittest.mock.patch.object(model, "decode", present):
            with unittest.mock.patch.object(one, "_commit") as commit:
                one.prompt_points(frame, [[x0, y0], [x1, y1]], [2, 3])
        return commit.call_args.args[1]

    def test_a_window_is_answered_like_a_picture_of_it(self):
        torch.manual_seed(6)
        net = model.build(model.sized(model.NANO, 128))
        frame = torch.randint(0, 256, (1, 3, 128, 128)).float()
        found = self.answer(1.3, (40, 40, 86, 70), frame, net)  # its window: 60 px from 32, 24 on
        enlarged = tracker.resize(frame[:, :, 24:84, 32:92], (128, 128))
        near = [(a - b) * 128 / 60 for a, b in zip((40, 40, 86, 70), (32, 24, 32, 24))]
        wanted = torch.full((1, 32, 32), -10.0)
        wanted[0, 6:21, 8:23] = tracker.resize(self.answer(0, near, enlarged, net)[:, None], (15, 15))[0, 0]
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)
        self.assertGreater((self.answer(0, (40, 40, 86, 70), frame, net) - wanted).abs().max(), 0.01)


    def test_the_piece_that_was_clicked_is_left(self):
        """Two squares that touch by a corner, and one apart; a click beside all is on the nearest one."""
        low = torch.full((1, 16, 16), -3.0)
        low[0, 2:5, 2:5], low[0, 5:7, 5:7], low[0, 2:5, 10:13] = 1.0, 2.0, 3.0
        left = low.clone()
        left[0, 2:5, 10:13] = tracker.OUTSIDE
        for click in ((10.0, 10.0), (27.9, 26.0), (31.0, 10.0), (0.0, 63.0)):
            torch.testing.assert_close(tracker.piece_of(low, click), left)
        right = torch.where((low > 0) & (low < 3), torch.full_like(low, tracker.OUTSIDE), low)
        for click in ((44.0, 12.0), (63.0, 0.0)):
            torch.testing.assert_close(tracker.piece_of(low, click), right)
        none = torch.full((1, 16, 16), -3.0)
        torch.testing.assert_close(tracker.piece_of(none, (5.0, 5.0)), none)

    def clicked(self, firsts, ious, frame, click):
        """What a click is answered with whose three answers in the frame are scripted, and the IoUs expected of windows, 0.1 of others."""
        torch.manual_seed(6)
        net = model.build(model.sized(model.NANO, 128))
        net.samtrack = net.samtrack | {"click_zoom": 1.4}
        one, asked = tracker.Tracker(net), []
        answer = one._answer

        def scripted(*given):
            masks, told, tokens, score = answer(*given)
            asked.append(given[1])
            if len(asked) == 1:
                masks, told = torch.stack([firsts[0], *firsts], 1), torch.tensor([[0.0, *ious]])
            return masks, told, tokens, torch.ones_like(score)

        with unittest.mock.patch.object(one, "_answer", scripted), unittest.mock.patch.object(one, "_commit") as commit:
            one.prompt_points(frame, [click], [1])
        return commit.call_args.args[1], asked, net

    def square(self, y, x, side):
        low = torch.full((1, 32, 32), -8.0)
        low[0, y : y + side, x : x + side] = 8.0
        return low

    def test_each_answer_to_a_click_is_asked_again_in_its_window(self):
        frame, click = torch.randint(0, 256, (1, 3, 128, 128)).float(), (44.0, 40.0)
        whole = torch.full((1, 32, 32), 8.0)  # which has no window
        found, asked, net = self.clicked([self.square(8, 10, 10), whole, self.square(9, 10, 4)], (0.9, 0.1, 0.1), frame, click)
        windows = [tracker.window_of(box, 1.4, 128) for box in ((40, 32, 80, 72), (40, 36, 56, 52))]
        self.assertEqual(windows[0], (32, 24, 56))
        wanted = [[(44 - x) * 128 / side, (40 - y) * 128 / side] for x, y, side in windows]
        torch.testing.assert_close(torch.cat(asked), torch.tensor([list(click), *wanted]))
        # One of the windows' answers is what a picture of the window is answered with.
        near = []
        for (left, top, side), point in zip(windows, wanted):
            one = tracker.Tracker(net)
            close = tracker.resize(frame[:, :, top : top + side, left : left + side], (128, 128))
            out = one._answer(model.encode(net, one._input(close)), torch.tensor([point]), [1])
            low = tracker.put_back(tracker.select_multi(*out[:3])[0], (left, top, side))
            near.append((found - tracker.piece_of(low, click)).abs().max().item())
        self.assertLess(min(near), 1e-3)

    def test_an_answer_without_a_window_is_taken_as_it_is(self):
        frame = torch.randint(0, 256, (1, 3, 128, 128)).float()
        for first in (torch.full((1, 32, 32), 8.0), torch.full((1, 32, 32), -8.0)):
            found, asked, _ = self.clicked([first] * 3, (0.5, 0.6, 0.4), frame, (44.0, 40.0))
            self.assertEqual(len(asked), 1)
            torch.testing.assert_close(found, first)

    def test_the_answer_that_all_agree_with_most(self):
        thing, part, other = self.square(4, 4, 20), self.square(4, 4, 6), self.square(20, 20, 8)
        answers = [(thing, 0.6), (part, 0.5), (other, 0.7)]
        looks = answers + [(self.square(5, 4, 6), 0.7)]
        weight, overlap = [math.exp(4 * iou) for _, iou in looks], 30 / 42
        first = (weight[0] + weight[1] * 36 / 400 + weight[2] * 16 / 448 + weight[3] * 36 / 400) / sum(weight)
        second = (weight[0] * 36 / 400 + weight[1] + weight[3] * overlap) / sum(weight)
        found = tracker.agreement(answers, looks)
        torch.testing.assert_close(found[:2], torch.tensor([first, second]))
        self.assertEqual(found.argmax().item(), 1)  # the window holds the part to be one, though less was expected of it

    def test_windows_of_clicks_have_the_click(self):
        one = tracker.Tracker(model.build(model.sized(model.NANO, 128)))
        one.click_zoom = 1.4
        found = one._window_of_answer(self.square(8, 10, 10), torch.tensor([[20.0, 50.0]]))
        self.assertEqual(found, tracker.window_of((20, 32, 80, 72), 1.4, 128))


@unittest.skipUnless(os.path.isdir(GOLDEN), "SAMTRACK_GOLDEN names no goldens")
class Golden(unittest.TestCase):
    """fp32 whole runs: at most two pixels of a low-resolution mask differ (see the goldens' own notes)."""

    def setUp(self):
        self.net = model.load(os.path.join(GOLDEN, "model.safetensors"))
        self.frames = load_file(os.path.join(GOLDEN, "frames.safetensors"))["frames"].permute(0, 3, 1, 2)
        with open(os.path.join(GOLDEN, "scenarios.json")) as f:
            self.scenarios = json.load(f)["scenarios"]

    def check(self, name, prompt, frames=16):
        item, golden = self.scenarios[name][0], load_file(os.path.join(GOLDEN, f"{name}.safetensors"))
        one, side = tracker.Tracker(self.net), self.net.image_size // 4
        for t in range(frames):
            image = self.frames[t : t + 1]
            mask = prompt(one, image, item) if t == 0 else one.track(image)
            wanted = golden[f"obj1/frame{t:03d}/low_res"].float()
            high = torch.nn.functional.interpolate(
                wanted.reshape(1, 1, side, side), size=(4 * side, 4 * side), mode="bilinear", align_corners=False
            )
            differ = torch.count_nonzero((high[0, 0] > 0) != mask).item()
            # Two low-resolution pixels are up to 32 of these.
            self.assertLessEqual(differ, 32, f"{name}, frame {t}")
            self.assertAlmostEqual(one.score, golden[f"obj1/frame{t:03d}/score"].item(), delta=2e-2)

    def test_click(self):
        self.check("click", lambda one, image, item: one.prompt_points(image, item["points"], item["labels"]))

    def test_box(self):
        def prompt(one, image, item):
            x0, y0, x1, y1 = item["box"]
            return one.prompt_points(image, [[x0, y0], [x1, y1]], [2, 3])

        self.check("box", prompt)

    def test_mask(self):
        def prompt(one, image, item):
            mask = cv2.imread(os.path.join(GOLDEN, item["mask"]), cv2.IMREAD_GRAYSCALE)
            return one.prompt_mask(image, torch.from_numpy(np.array(mask)))

        self.check("mask", prompt)


if __name__ == "__main__":
    unittest.main()
