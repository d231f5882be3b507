# SPDX-License-Identifier: MIT
"""Things outlined by hand: polygons, the way between key frames with a stand-in for the network, and the file."""

import json
import os
import tempfile
import unittest
from unittest import mock

import annotated
import bank
import cv2
import evaluate
import numpy as np
import outlines
import train

SEED = 43


def frames_of(count, lost=None):
    """A red square that goes right by 16 px a frame; from frame `lost` on it is a blue one instead."""
    frames = np.full((count, bank.HEIGHT, bank.WIDTH, 3), 90, np.uint8)
    for t, frame in enumerate(frames):
        frame[100:180, 40 + 16 * t : 120 + 16 * t] = (200, 40, 40) if lost is None or t < lost else (40, 40, 200)
    return frames


def square(t):
    """Its polygon in frame t, in px of an annotation."""
    x, scale = 40 + 16 * t, annotated.SIZE[0] / bank.WIDTH
    corners = [(x, 100), (x + 80, 100), (x + 80, 180), (x, 180)]
    # What is filled includes the pixels of the outline itself.
    return [round(v * scale) - (v in (x + 80, 180)) for corner in corners for v in corner]


class Follower:
    """Takes what is red now; `drift`: one pixel more to the left in every frame."""

    drift = 0

    def __init__(self, net, maps):
        self.maps, self.frames = maps, 0

    def prompt_mask(self, image, mask):
        return mask

    def track(self, image):
        self.frames += 1
        return self.maps[image].roll(-self.drift * self.frames, 1)


def reds(net, frames):
    import torch

    return [torch.from_numpy((f[..., 0] > f[..., 2]).copy()) for f in frames]


class Ways(unittest.TestCase):
    def setUp(self):
        for name, stand_in in (("annotated.Remembering", Follower), ("annotated.encoded", reds)):
            replaced = mock.patch(name, stand_in)
            replaced.start()
            self.addCleanup(replaced.stop)

    def of_square(self, frames, keys):
        annotation = {annotated.STRIDE * t: {"square": [square(t)]} for t in keys}
        return annotated.of_video(True, frames, annotation)

    def test_key_frames_are_joined_where_both_ways_agree(self):
        [(first, masks)], drawn = self.of_square(frames_of(13), (0, 6, 12))
        self.assertEqual((first, len(masks)), (0, 13))
        for t, mask in enumerate(masks):
            columns = np.nonzero((mask == 255).any(0))[0]
            self.assertEqual((columns.min(), columns.max() + 1), (20 + 8 * t, 60 + 8 * t))
            self.assertTrue(set(np.unique(mask)) == {0, 255})
        self.assertEqual(sorted({t for t, _ in drawn} & {0, 6, 12}), [0, 6, 12])

    def test_what_is_lost_between_key_frames_is_cut_there(self):
        followed, drawn = self.of_square(frames_of(13, lost=8), (0, 6, 12))
        self.assertEqual([(t, len(m)) for t, m in followed], [(0, 7)])
        self.assertIn(12, [t for t, _ in drawn])

    def test_a_thing_that_both_ways_join_to_its_neighbour_is_cut_there(self):
        frames = frames_of(13)
        frames[9, 60:220, :] = frames[9, 110, 200]
        followed, _ = self.of_square(frames, (0, 6, 12))
        self.assertEqual([(t, len(m)) for t, m in followed], [(0, 7)])

    def test_where_the_ways_differ_nobody_knows(self):
        with mock.patch.object(Follower, "drift", 2):
            [(_, masks)], _ = self.of_square(frames_of(7), (0, 6))
        # One step from one key frame, five from the other; half-way both are off alike.
        self.assertTrue((masks[1] == 128).any() and (masks[1] == 255).any())
        self.assertFalse((masks[0] == 128).any())

    def test_a_file_gives_back_videos_tracks_and_outlines(self):
        frames = frames_of(20)
        followed, drawn = self.of_square(frames, (0, 4, 15))
        followed = [f for f in followed if f[0] == 0]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "annotated.npz")
            runs = [(a, b) for a, b in annotated.pieces(frames, [(0, followed[0][1][:5])], [(15, None)])]
            self.assertEqual(runs, [(0, 5), (15, 16)])
            made = [("a.mp4", frames[:5], [(0, followed[0][1][:5])], [(0, drawn[0][1])])]
            made += [("b.mp4", frames[15:16], [], [(0, drawn[2][1])])]
            annotated.save(path, made)
            videos, names, found, outlined = annotated.load(path, 100)
        self.assertEqual([len(v) for v in videos], [5, 1])
        self.assertLess(np.abs(videos[0].astype(int) - frames[:5]).mean(), 2)
        self.assertEqual((names, len(found), found[0][0], found[0][2]), (["a.mp4", "b.mp4"], 1, 100, bank.ANNOTATED))
        np.testing.assert_array_equal(found[0][1], followed[0][1][:5])
        self.assertEqual([(t, k) for t, _, k in outlined], [(100, bank.ANNOTATED), (105, bank.ANNOTATED)])
        np.testing.assert_array_equal(outlined[1][1], drawn[2][1])
        self.assertEqual(train.frames_apart("b.mp4", videos, names), {5})


class Encoded(unittest.TestCase):
    def test_frames_that_were_encoded_before_are_tracked_alike(self):
        import model
        import torch
        import tracker

        torch.manual_seed(SEED)
        net = model.build(model.sized(model.NANO, 64) | {"random_walk": {"fidelity": 0.05}}).eval()
        frames, mask = frames_of(3), np.zeros((bank.HEIGHT, bank.WIDTH), bool)
        mask[100:180, 40:120] = True
        with torch.inference_mode():
            found = annotated.tracked(net, annotated.encoded(net, frames), range(3), mask)
        one = tracker.Tracker(net)
        images = [torch.from_numpy(f).permute(2, 0, 1)[None] for f in frames]
        wanted = [one.prompt_mask(images[0], torch.from_numpy(mask))] + [one.track(i) for i in images[1:]]
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(a, b.numpy())


class Annotations(unittest.TestCase):
    def test_polygons_holes_and_pieces(self):
        mask = annotated.masked([[0, 0, 99, 0, 99, 99, 0, 99], [200, 200, 219, 200, 219, 219, 200, 219],
                                 ["hole", 20, 20, 29, 20, 29, 29, 20, 29]])
        self.assertEqual(mask.sum(), 100 * 100 + 20 * 20 - 10 * 10)
        self.assertFalse(mask[25, 25])

    def refused(self, text):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "v.json"), "w") as f:
                f.write(text)
            with self.assertRaisesRegex(bank.BankError, "v.json: not an annotation"):
                annotated.read(folder)

    def test_what_is_no_annotation_is_refused(self):
        for text in ("", "[]", '{"a": {}}', '{"0": {"x": [[1, 2, 3, 4]]}}', '{"0": {"x": [[1, 2, 3, 4, 5, NaN]]}}',
                     '{"0": {"x": [[]]}}', '{"0": {"x": 3}}', '{"0": {"x": [[1, 2, 3, 4, 5, "a"]]}}'):
            with self.subTest(text):
                self.refused(text)
        with self.assertRaisesRegex(bank.BankError, "no annotations"), tempfile.TemporaryDirectory() as folder:
            annotated.read(folder)

    def test_the_own_annotations_can_be_read(self):
        for name, frames in annotated.read().items():
            self.assertTrue(all(t % annotated.STRIDE == 0 for t in frames), name)

    def test_clips_for_scores_are_masked_at_their_key_frames(self):
        with tempfile.TemporaryDirectory() as folder:
            out = cv2.VideoWriter(os.path.join(folder, "v.avi"), cv2.VideoWriter_fourcc(*"MJPG"), 25, (128, 72))
            for frame in frames_of(9):
                out.write(cv2.resize(frame, (128, 72)))
            out.release()
            clips = os.path.join(folder, "clips")
            keys = {2: {"square": [square(2)]}, 8: {"square": [square(8)]}}
            annotated.write_clips(clips, folder, {"v": keys}, ["v"])
            images, truths = evaluate.read_clip(os.path.join(clips, "v-square"))
            self.assertEqual((len(images), [t is not None for t in truths]), (7, [True] + 5 * [False] + [True]))
            j, _ = evaluate.score([truths[0]] * 6 + [truths[6]], truths)
            self.assertEqual(j, 1.0)
            with self.assertRaisesRegex(bank.BankError, "no annotated video named w"):
                annotated.write_clips(clips, folder, {"v": keys}, ["w"])


if __name__ == "__main__":
    unittest.main()
