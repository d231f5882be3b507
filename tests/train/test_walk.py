# SPDX-License-Identifier: MIT
"""Random walks: they solve the system of equations that docs/MODEL.md tells, and move outlines to edges."""

import unittest
import unittest.mock

import model
import numpy as np
import torch
import tracker
import walk

SEED = 12
SIDE = 12
FIDELITY = 0.05


def solved(given, picture, free):
    """2p - 1 (h, w) from all equations at once, numpy's."""
    h, w = given.shape
    colours = picture.reshape(3, -1).T
    pairs = [(y * w + x, y * w + x + step) for y in range(h) for x in range(w) for step in ((1,) if x + 1 < w else ()) + ((w,) if y + 1 < h else ())]
    apart = np.array([((colours[i] - colours[k]) ** 2).sum() for i, k in pairs])
    a, b = FIDELITY * np.eye(h * w), FIDELITY * given.flatten()
    for (i, k), d in zip(pairs, apart):
        weight = np.exp(-3 * d / apart.mean()) + 1e-5
        a[[i, k], [i, k]] += weight
        a[[i, k], [k, i]] -= weight
    for i in np.flatnonzero(~free):
        a[i], b[i] = np.eye(h * w)[i], -0.8
    return np.linalg.solve(a, b).reshape(h, w)


class Walking(unittest.TestCase):
    def setUp(self):
        self.generator = np.random.default_rng(SEED)

    def check(self, box):
        picture = self.generator.normal(size=(3, SIDE, SIDE))
        low = self.generator.normal(0, 3, (SIDE, SIDE))
        places = np.arange(SIDE) + 0.5
        (x0, y0), (x1, y1) = ((0, 0), (SIDE, SIDE)) if box is None else box
        free = np.outer((places > y0) & (places < y1), (places > x0) & (places < x1))
        wanted = solved(np.tanh(low / 2), picture, free)
        corners = None if box is None else torch.tensor(box)
        with unittest.mock.patch.object(walk, "ROUNDS", 400):
            found = walk.walked(torch.from_numpy(low), torch.from_numpy(picture), FIDELITY, corners)
        np.testing.assert_allclose(np.tanh(found.numpy() / 2), wanted, atol=1e-5)

    def test_many_rounds_solve_the_equations(self):
        self.check(None)

    def test_many_rounds_solve_the_equations_in_a_box(self):
        self.check(((2.2, 0.7), (9.1, 12.0)))

    def test_ten_rounds_are_near_the_solution(self):
        picture, low = (torch.from_numpy(self.generator.normal(size=s)) for s in ((3, 80, 80), (80, 80)))
        found = walk.walked(low, picture, FIDELITY)
        with unittest.mock.patch.object(walk, "ROUNDS", 400):
            exact = walk.walked(low, picture, FIDELITY)
        self.assertLess((torch.tanh(found / 2) - torch.tanh(exact / 2)).abs().max(), 0.05)

    def test_an_outline_moves_to_the_edge_of_two_colours(self):
        picture, low = torch.zeros(3, SIDE, SIDE), torch.full((SIDE, SIDE), -4.0)
        picture[:, :, :6] = 1
        low[:, :5] = 4  # one place short of the edge
        found = walk.walked(low, picture, FIDELITY) > 0
        self.assertTrue(found[:, :6].all())
        self.assertFalse(found[:, 6:].any())

    def test_a_box_smaller_than_a_place_excludes_none(self):
        picture, low = (torch.from_numpy(self.generator.normal(size=s)) for s in ((3, SIDE, SIDE), (SIDE, SIDE)))
        small = torch.tensor([[3.6, 3.6], [4.4, 4.4]])
        self.assertTrue(torch.equal(walk.walked(low, picture, FIDELITY, small), walk.walked(low, picture, FIDELITY)))

    def test_a_picture_of_one_colour_is_no_error(self):
        found = walk.walked(torch.full((SIDE, SIDE), 3.0), torch.ones(3, SIDE, SIDE), FIDELITY)
        torch.testing.assert_close(found, torch.full((SIDE, SIDE), 3.0), rtol=1e-4, atol=1e-4)


class Tracking(unittest.TestCase):
    def test_walks_are_shown_and_not_remembered_of_tracked_frames(self):
        torch.manual_seed(SEED)
        plain = model.build(model.sized(model.NANO, 64)).eval()
        frames = [torch.randint(0, 256, (1, 3, 64, 64)) for _ in range(3)]
        mask = torch.zeros(64, 64)
        mask[16:48, 16:48] = 1
        one, other = tracker.Tracker(plain), tracker.Tracker(plain)
        other.fidelity = FIDELITY
        low = torch.randn(1, 16, 16)
        answer = low, torch.zeros(1, plain.hidden_dim), torch.ones(1, 1)
        with unittest.mock.patch.object(tracker.Tracker, "_chosen", return_value=answer):
            for t in (one, other):
                t.prompt_mask(frames[0], mask)
            shown = [[t.track(f) for f in frames[1:]] for t in (one, other)]
        self.assertFalse(torch.equal(shown[0][0], shown[1][0]))
        for a, b in zip(one.tracked.values(), other.tracked.values()):
            self.assertTrue(torch.equal(a[0], b[0]))


if __name__ == "__main__":
    unittest.main()
