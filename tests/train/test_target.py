# SPDX-License-Identifier: MIT
"""Target models: fitted by ridge regression to the masks so far."""

import os
import tempfile
import unittest
import unittest.mock

import bank
import cv2
import model
import numpy as np
import target
import torch
import whiten

SEED = 11
AIMING = model.sized(model.NANO, 64) | {"target_model": {"channels": 5, "weight": 2.0}}


def logits(generator):
    """Of a mask (1, 16, 16): a blob, sure inside and outside and not between."""
    y, x = np.mgrid[:16, :16]
    centre = generator.uniform(4, 11, 2)
    return torch.from_numpy(5 - 1.5 * np.hypot(y - centre[0], x - centre[1])).float()[None]


class Frames(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(SEED)
        self.net = model.build(AIMING)
        self.generator = np.random.default_rng(SEED)

    def frame(self):
        """A frame's features (64, 5), what the network's are replaced by, and a mask."""
        return torch.from_numpy(self.generator.normal(size=(64, 5))).float(), logits(self.generator)

    def look(self, one, features):
        with unittest.mock.patch.object(model, "target_features", return_value=features[None]):
            one.look(None)


class Fitting(Frames):
    def rows(self, features, low, share):
        """Of a least squares problem with this frame in it: sqrt(weight) (features, 1), and sqrt(weight) y."""
        p = low[0].sigmoid().reshape(8, 2, 8, 2).mean((1, 3)).numpy().astype(np.float64)
        inside = p > 0.5
        near = cv2.dilate(inside.astype(np.uint8), np.ones((9, 9), np.uint8)) > 0
        weight = share / np.where(inside, inside.sum(), (~inside).sum()) * np.where(near, 1, 0.3) * (0.2 + 0.8 * abs(2 * p - 1))
        root = np.sqrt(weight).reshape(-1, 1)
        x = np.concatenate((features.numpy(), np.ones((64, 1))), 1)
        return root * x, root[:, 0] * (2 * p - 1).flatten()

    def test_scores_solve_the_least_squares_problem_of_all_frames(self):
        frames, one = [self.frame() for _ in range(4)], target.Target(self.net)
        for i, (features, low) in enumerate(frames[:3]):
            self.look(one, features)
            with unittest.mock.patch.object(target.Target, "scores", return_value=torch.zeros(1, 8, 8)):
                one.learn(one.tracked(low)) if i else one.prompted(low, 1.0)
        self.look(one, frames[3][0])
        parts = [self.rows(*f, s) for f, s in zip(frames, (1, 0.1 * 0.9, 0.1))]
        x, y = (np.concatenate(p) for p in zip(*parts))
        ridge = np.sqrt(0.01 * np.mean((x**2).sum(0))) * np.eye(6)
        solution = np.linalg.lstsq(np.concatenate((x, ridge)), np.concatenate((y, np.zeros(6))), rcond=None)[0]
        wanted = np.clip(frames[3][0].numpy() @ solution[:5] + solution[5], -1.5, 1.5).reshape(8, 8)
        np.testing.assert_allclose(one.scores()[0].numpy(), wanted, rtol=1e-3, atol=1e-3)

    def test_scores_are_added_to_tracked_masks_alone(self):
        (features, low), one = self.frame(), target.Target(self.net)
        self.look(one, features)
        self.assertTrue(torch.equal(one.tracked(low), low))  # nothing was prompted yet
        self.assertTrue(torch.equal(one.prompted(low, 1.0), low))
        with unittest.mock.patch.object(target.Target, "scores", return_value=torch.full((1, 8, 8), 0.5)):
            torch.testing.assert_close(one.tracked(low), low + 1.0)

    def test_two_things_of_other_features_are_told_apart(self):
        one = target.Target(self.net)
        features, low = torch.zeros(64, 5), torch.full((1, 16, 16), -8.0)
        features[:32, 0] = 1
        low[:, :8] = 8
        self.look(one, features)
        one.prompted(low, 1.0)
        self.look(one, features.flip(0))
        scores = one.scores()[0]
        self.assertGreater(scores[4:].min().item(), 0.8)
        self.assertLess(scores[:4].max().item(), -0.8)


class Recall(Frames):
    def setUp(self):
        super().setUp()
        self.net.samtrack["target_model"]["recall"] = {"weight": 2.0, "likeness": 0.5}

    def keys(self, features, low):
        """Of a frame, one by one: (unit features, 2p - 1) of cells beside the object and of blocks without one."""
        told = 2 * low[0].sigmoid().reshape(8, 2, 8, 2).mean((1, 3)).numpy() - 1
        near = cv2.dilate((told > 0).astype(np.uint8), np.ones((3, 3), np.uint8)) > 0
        groups = [[i] for i in range(64) if near.flat[i]][: target.NEAR_KEYS]
        for y, x in np.ndindex(4, 4):
            block = [16 * y + 2 * x + i for i in (0, 1, 8, 9)]
            groups += [] if near.flat[block].any() else [block]
        means = [(features.numpy()[g].mean(0), told.flat[g].mean()) for g in groups]
        return [(x / np.linalg.norm(x), t) for x, t in means]

    def test_each_cell_is_told_by_its_nearest_neighbour(self):
        (features, low), (later, _), one = self.frame(), self.frame(), target.Target(self.net)
        self.look(one, features)
        one.prompted(low, 1.0)
        keys = self.keys(features, low)
        self.look(one, later)
        for cell, found in zip(later.numpy(), one.recalled().flatten().tolist()):
            alike, told = max(((x @ cell / np.linalg.norm(cell), t) for x, t in keys), key=lambda pair: pair[0])
            self.assertAlmostEqual(found, told / (1 + np.exp((0.5 - alike) / target.SOFTNESS)), places=4)

    def test_ground_beside_an_answer_is_believed_as_far_as_its_iou_says(self):
        (features, low), one = self.frame(), target.Target(self.net)
        low = torch.where(torch.arange(16)[:, None] + torch.arange(16) < 6, low.abs() + 1, -low.abs() - 1)
        told = 2 * low[0].sigmoid().reshape(8, 2, 8, 2).mean((1, 3)).numpy() - 1
        beside = cv2.dilate((told > 0).astype(np.uint8), np.ones((9, 9), np.uint8)) > 0
        self.assertTrue(0 < beside.sum() < 64)
        self.look(one, features)
        wholly = one.neighbours(low, 1.0)[1]
        for iou, trust in ((0.6, 0.0), (0.76, 0.4), (0.9, 1.0)):
            found = one.neighbours(low, iou)[1]
            changed = (found != wholly).numpy()
            torch.testing.assert_close(found[changed], wholly[changed] * trust)
            self.assertTrue((wholly[changed] < 0).all())
            # Cells one by one around the object are all beside it; of the blocks those with one that is.
            near = cv2.dilate((told > 0).astype(np.uint8), np.ones((3, 3), np.uint8)) > 0
            blocks = [np.s_[y : y + 2, x : x + 2] for y in (0, 2, 4, 6) for x in (0, 2, 4, 6)]
            wanted = (near & (told < 0)).sum() + sum(beside[b].any() and not near[b].any() for b in blocks)
            self.assertEqual(changed.sum(), wanted if trust < 1 else 0)

    def test_more_cells_than_keys_are_thinned_out_evenly(self):
        (features, low), one = self.frame(), target.Target(self.net)
        self.look(one, features)
        with unittest.mock.patch.object(target, "NEAR_KEYS", 5):
            keys, told = one.neighbours(torch.full_like(low, 3.0), 1.0)
        wanted = features[[0, 12, 25, 38, 51]]  # 64 i / 5
        torch.testing.assert_close(keys, wanted / wanted.norm(dim=1, keepdim=True))
        self.assertEqual(len(told), 5)

    def test_scores_are_added_to_tracked_masks_alone(self):
        (features, low), one = self.frame(), target.Target(self.net)
        self.look(one, features)
        self.assertTrue(torch.equal(one.prompted(low, 1.0), low))
        with (
            unittest.mock.patch.object(target.Target, "scores", return_value=torch.full((1, 8, 8), 0.5)),
            unittest.mock.patch.object(target.Target, "recalled", return_value=torch.full((1, 8, 8), -0.25)),
        ):
            torch.testing.assert_close(one.tracked(low), low + 1.0 - 0.5)


class Pieces(unittest.TestCase):
    def drawn(self, *squares):
        """Logits (1, 16, 16) with squares (row, column, side, vote), and votes (1, 8, 8), -1 outside of them."""
        low, votes = torch.full((1, 16, 16), -3.0), torch.full((1, 8, 8), -1.0)
        for y, x, side, vote in squares:
            low[0, y : y + side, x : x + side] = 2.0
            votes[0, y // 2 : (y + side) // 2, x // 2 : (x + side) // 2] = vote
        return low, votes

    def test_what_cells_vote_against_goes(self):
        own, foreign = (0, 0, 4, 0.3), (8, 8, 4, -0.3)
        found = target.own_of(*self.drawn(own, foreign))
        self.assertTrue(torch.equal(found > 0, self.drawn(own)[0] > 0))
        self.assertEqual(found[0, 8, 8].item(), target.DROPPED)
        touching = self.drawn((0, 0, 4, 0.3), (4, 4, 4, -0.2))  # by a corner: one piece
        self.assertTrue(torch.equal(target.own_of(*touching), touching[0]))
        even = self.drawn(own, (8, 8, 4, 0.0))
        self.assertTrue(torch.equal(target.own_of(*even), even[0]))

    def test_a_mask_of_which_little_would_stay_stays(self):
        for squares in ([(0, 0, 2, 1), (6, 6, 6, -1)], [(0, 0, 4, -1)], []):  # 4 places are less than a fifth of 40
            low, votes = self.drawn(*squares)
            self.assertTrue(torch.equal(target.own_of(low, votes), low))

    def test_tracked_masks_lose_them_if_the_model_says_so(self):
        torch.manual_seed(SEED)
        net = model.build(AIMING)
        low, votes = self.drawn((0, 0, 4, 1.0), (8, 8, 4, -0.5))
        for pieces in (False, True):
            net.samtrack["target_model"]["recall"] = {"weight": 0.1, "likeness": 0.5, "pieces": pieces}
            one = target.Target(net)
            one.first = ()
            with (
                unittest.mock.patch.object(target.Target, "scores", return_value=torch.zeros(1, 8, 8)),
                unittest.mock.patch.object(target.Target, "recalled", return_value=votes),
            ):
                self.assertEqual((one.tracked(low)[0, 8:12, 8:12] > 0).any().item(), not pieces)


class Whitening(unittest.TestCase):
    def test_features_have_no_correlations(self):
        with tempfile.TemporaryDirectory() as folder:
            paths, generator = [], np.random.default_rng(SEED)
            for i in range(2):
                paths.append(os.path.join(folder, f"{i}.avi"))
                video = cv2.VideoWriter(paths[-1], cv2.VideoWriter_fourcc(*"MJPG"), 25, (96, 64))
                for _ in range(12):
                    picture = cv2.resize(generator.integers(0, 256, (8, 12, 3), np.uint8), (96, 64))
                    video.write(picture)
                video.release()
            torch.manual_seed(SEED)
            net = model.build(model.sized(model.NANO, 64)).eval()
            own = whiten.given(net, *whiten.components(net, paths, 7), 1.5)
            self.assertEqual(own.samtrack["target_model"], {"channels": 7, "weight": 1.5})
            # Those that it has already do not matter.
            again = whiten.given(own, *whiten.components(own, paths, 7), 1.5)
            for name in ("image", "s1", "s0"):
                torch.testing.assert_close(again.target_model[name].weight, own.target_model[name].weight)
            self.assertEqual(whiten.given(own, *whiten.components(own, paths, 4), 2).target_model["s1"].weight.shape[0], 4)
            with torch.inference_mode():
                frames = [f for p in paths for f in whiten.frames_of(p)]
                maps = [model.encode(own, model.normalise(own, whiten.tracker.resize(f, (64, 64)))) for f in frames]
                x = torch.cat([model.target_features(own, m)[0] for m in maps])
        self.assertEqual(len(x), 2 * whiten.FRAMES * 64)
        torch.testing.assert_close(x.mean(0), torch.zeros(7), rtol=0, atol=1e-2)
        torch.testing.assert_close(x.T @ x / len(x), torch.eye(7), rtol=0, atol=2e-2)

    def test_no_frame_at_all(self):
        with self.assertRaisesRegex(bank.BankError, "no frame"):
            whiten.components(model.build(model.sized(model.NANO, 64)), ["/nonexistent.mp4"], 4)


if __name__ == "__main__":
    unittest.main()
