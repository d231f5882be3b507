# SPDX-License-Identifier: MIT
import unittest
import unittest.mock

import bank
import cv2
import data
import losses
import model
import numpy as np
import outlines
import torch
import tracks

SEED = 11


class Clips(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        torch.manual_seed(SEED)
        cls.bank = bank.Bank(bank.shared(bank.invent(SEED)), None, "cpu")
        make = data.Generator(cls.bank, 64, "cpu")
        cls.clips = [make(4, 5) for _ in range(36)]

    def test_shapes_and_ranges(self):
        clips = self.clips[0]
        self.assertEqual(clips.frames.shape, (4, 5, 3, 64, 64))
        self.assertEqual(clips.masks.shape, (4, 5, 2, 64, 64))
        self.assertTrue(0 <= clips.frames.min() and clips.frames.max() <= 255)
        self.assertTrue(((clips.masks == 0) | (clips.masks == 1)).all())

    def test_present_means_visible(self):
        for clips in self.clips:
            area = clips.masks.sum((3, 4))
            self.assertTrue(((area > 12).float() == clips.present).all())

    def test_motion_looks_like_video(self):
        """Masks of consecutive frames overlap by 0.6 to 1 in most pairs, and are not all still."""
        overlaps = []
        for clips in self.clips:
            a, b = clips.masks[:, :-1], clips.masks[:, 1:]
            both = (clips.present[:, :-1] * clips.present[:, 1:]).bool()
            union = torch.maximum(a, b).sum((3, 4)).clamp(min=1)
            overlaps.append(((a * b).sum((3, 4)) / union)[both])
        overlaps = torch.cat(overlaps)
        print(f"seed {SEED}: median overlap {overlaps.median():.2f} of {len(overlaps)}")
        self.assertGreater((overlaps > 0.6).float().mean(), 0.55)
        self.assertLess((overlaps > 0.97).float().mean(), 0.6)

    def test_hues_turn_about_grey(self):
        """Grey keeps its place whatever the turn, a colour does not, and none is turned where none is to be."""
        torch.manual_seed(SEED)
        hues = data.Generator(self.bank, 64, "cpu", tinted=1).hues(32)
        grey, red = torch.full((3,), 90.0), torch.tensor((200.0, 20.0, 20.0))
        torch.testing.assert_close(hues @ grey, grey.expand(32, 3), rtol=1e-5, atol=1e-3)
        turned = hues @ red
        # A turn and a stretch about the grey axis keep the mean.
        torch.testing.assert_close(turned.mean(1), red.mean().expand(32), rtol=1e-5, atol=1e-3)
        self.assertGreater(((turned - red).norm(dim=1) > 20).float().mean(), 0.8)
        plain = data.Generator(self.bank, 64, "cpu", tinted=0).hues(8)
        torch.testing.assert_close(plain, torch.eye(3).expand(8, 3, 3), rtol=0, atol=1e-6)

    def test_what_leaves_is_away_for_long_and_returns_elsewhere(self):
        """Of things that leave, many are away for nearly half of the frames; most return, elsewhere."""
        torch.manual_seed(SEED)
        make, steps = data.Generator(self.bank, 64, "cpu"), 12
        trip = make.trip(400, steps)
        away = (trip >= 1).sum(1)
        self.assertGreater((away >= steps - 7).float().mean(), 0.3)
        self.assertTrue(((trip >= 0) & (trip <= 1)).all())
        self.assertGreater((trip[:, -1] < 0.5).float().mean(), 0.6)
        matrix, _ = make.place(400, steps)
        # The centre of a thing, from the frame to its plane backwards.
        centre = -torch.linalg.solve(matrix[..., :2], matrix[..., 2])
        far = centre.abs().amax(2) > 1.5
        left = far.any(1) & ~far[:, 0] & ~far[:, -1]
        moved = (centre[:, -1] - centre[:, 0]).norm(dim=1)[left]
        print(f"seed {SEED}: {left.sum()} of 400 left and returned, {moved.median():.2f} from where they were")
        self.assertGreater(left.sum(), 40)
        self.assertGreater((moved > 0.3).float().mean(), 0.4)

    def test_boxes(self):
        masks = torch.zeros(2, 40, 60)
        masks[0, 10:20, 30:60] = 1
        masks[1, :, 15] = 1
        middle, half = data.boxes(masks)
        torch.testing.assert_close(middle, torch.tensor([[0.5, -0.25], [-29 / 60, 0.0]]))
        torch.testing.assert_close(half, torch.tensor([[0.5, 0.25], [1 / 60, 1.0]]))

    def test_bands_cross_boxes_and_spare_things(self):
        """Behind a thing in a corner, the ground within its box changes more often than as far away; the thing never does."""
        torch.manual_seed(SEED)
        make = data.Generator(self.bank, 64, "cpu")
        things, frames = torch.zeros(200, 1, 1, 64, 64), torch.full((200, 1, 3, 64, 64), 300.0)
        things[:, :, :, 6:20, 6:8] = things[:, :, :, 6:8, 6:20] = 1
        changed = (make.ground(frames, things, 0.6) - 300).abs().amax((1, 2)) > 1
        self.assertFalse((changed & (things[:, 0, 0] > 0)).any())
        near, far = changed[:, 10:20, 10:20].any(2).any(1), changed[:, 46:56, 46:56].any(2).any(1)
        self.assertGreater(near.float().mean(), 0.5)
        self.assertGreater(near.float().mean(), far.float().mean() + 0.05)

    def test_close_ups_show_all_of_a_thing(self):
        torch.manual_seed(SEED)
        make = data.Generator(self.bank, 64, "cpu")
        masks = torch.zeros(200, 45, 80)
        masks[:, 20:24, 60:66] = 1
        camera = make.camera(200, 1, masks)
        corners = torch.tensor([[60, 20], [66, 24]]) / torch.tensor([80, 45]) * 2 - 1
        seen = torch.linalg.solve(camera[:, 0, :, :2], (corners - camera[:, 0, None, :, 2]).mT).mT
        close = camera[:, 0, :, :2].flatten(1).norm(dim=1) < 0.3
        self.assertTrue(40 < close.sum() < 80, close.sum())
        self.assertLess(seen[close].abs().quantile(0.9), 1.1)

    def test_twins_look_alike(self):
        """With every thing the twin of the one before, two targets of a clip have one shape and one skin."""
        torch.manual_seed(SEED)
        for twins in (0.0, 1.0):
            make, seen = data.Generator(self.bank, 64, "cpu", cutouts=0, twins=twins), []
            make.thing = lambda sheet, steps, turn, seen=seen: (
                seen.append(sheet), data.Generator.thing(make, sheet, steps, turn))[1]
            for _ in range(6):
                del seen[:]
                make(2, 2)
                for a, b in zip(seen, seen[1:]):
                    self.assertEqual(a.equal(b), twins == 1.0)


class Costs(unittest.TestCase):
    def test_a_perfect_mask_costs_nothing(self):
        truth = torch.zeros(1, 16, 16)
        truth[:, 4:12, 4:12] = 1
        costs, overlap = losses.mask_costs((truth[:, None] - 0.5) * 60, truth, torch.ones_like(truth))
        self.assertLess(costs.item(), 1e-3)
        self.assertEqual(overlap.item(), 1)

    def test_the_unknown_costs_nothing(self):
        truth, known = torch.zeros(1, 16, 16), torch.ones(1, 16, 16)
        known[:, :, 8:] = 0
        truth[:, 2:6, 2:6] = 1
        wrong = truth.clone()
        wrong[:, :, 8:] = 1
        costs, _ = losses.mask_costs((wrong[:, None] - 0.5) * 60, truth, known)
        self.assertLess(costs.item(), 1e-3)


class Following(unittest.TestCase):
    def test_every_prompt_and_a_correction_reach_every_part(self):
        """Each kind of prompt gives a finite cost, and gradients reach encoder, memory and decoder."""
        torch.manual_seed(SEED)
        net = model.build(dict(model.NANO, image_size=64, trunk=dict(model.NANO["trunk"], window_spec=[8, 4, 4, 2])))
        make = data.Generator(bank.Bank(bank.shared(bank.invent(SEED)), None, "cpu"), 64, "cpu")
        parts = ("vision_encoder", "memory_attention", "memory_encoder", "mask_decoder", "object_pointer_proj")
        for kind, corrected in (("mask", None), ("box", 2), ("point", 1)):
            net.zero_grad(set_to_none=True)
            cost, ious, seen = losses.follow(net, make(2, 3), kind, corrected=corrected)
            cost.backward()
            self.assertTrue(torch.isfinite(cost))
            self.assertEqual((ious.shape, seen.shape), ((4, 3), (4, 3)))
            reached = {n.split(".")[0] for n, p in net.named_parameters() if p.grad is not None and p.grad.any()}
            self.assertLessEqual(set(parts), reached, kind)
            self.assertEqual("prompt_encoder" in reached, True)

    def test_only_prompted_frames_stay_in_memory(self):
        memory = losses.Memory()
        for t in range(10):
            memory.write(t, t in (0, 4))
        self.assertEqual(memory.read(), [(0, -1), (4, -1), (5, 4), (6, 3), (7, 2), (8, 1), (9, 0)])

    def test_frames_without_a_target_do_not_count_for_it(self):
        memory = losses.Memory(4)
        # Which targets are there; 3 is prompted again.
        for t, there in enumerate(((1, 1), (1, 1), (1, 0), (1, 1), (0, 1), (1, 1), (1, 0))):
            memory.write((torch.full((2, 3), float(t)),), t in (0, 3), torch.tensor(there) > 0)
        found = [(m[0][:, 0].tolist(), slot) for m, slot in memory.read()]
        # The first lacks 4 and has the prompted frame's gap, for which frame 0 stands; the second lacks 2 and 6.
        self.assertEqual(found, [([0, 0], -1), ([3, 3], -1), ([0, 0], 2), ([5, 4], 1), ([6, 5], 0)])

    def test_memory_holds_the_truth_or_the_own_answer(self):
        """The thing is in view; the answer says that it is not. own is how often memory believes that."""
        torch.manual_seed(SEED)
        net = model.build(model.sized(model.NANO, 64))
        with torch.no_grad():
            net.mask_decoder.pred_obj_score_head.proj_out.weight.zero_()
            net.mask_decoder.pred_obj_score_head.proj_out.bias.fill_(-1)
        clips = data.Generator(bank.Bank(bank.shared(bank.invent(SEED)), None, "cpu"), 64, "cpu")(2, 4)
        clips.present.fill_(1)
        # The corrected frame is believed.
        for own, wanted in ((0, [1, 1, 1, 1]), (1, [1, 0, 1, 0])):
            with unittest.mock.patch.object(model, "encode_memory", wraps=model.encode_memory) as written:
                losses.follow(net, clips, "mask", corrected=2, own=own)
            self.assertEqual([call.args[3].unique().tolist() for call in written.call_args_list], [[w] for w in wanted])

    def test_memory_errs_on_tracked_frames_alone(self):
        """The mask of a prompted or corrected frame is remembered as it is; those between have leaked or shrunk."""
        torch.manual_seed(SEED)
        net = model.build(model.sized(model.NANO, 64))
        clips = data.Generator(bank.Bank(bank.shared(bank.invent(SEED)), None, "cpu"), 64, "cpu")(1, 4)
        clips.present.fill_(1)

        def remembered(shift, joined=False):
            given = torch.full((2, 1, 1, 1), shift), torch.tensor([joined, False])
            with unittest.mock.patch.object(losses, "mistakes", return_value=given):
                with unittest.mock.patch.object(model, "encode_memory", wraps=model.encode_memory) as calls:
                    losses.follow(net, clips, "mask", corrected=2, own=0.0)
            return [call.args[2].detach() for call in calls.call_args_list]

        written = {shift: remembered(shift) for shift in (0.0, 2.0, -2.0)}
        for shift in (2.0, -2.0):
            self.assertTrue(torch.equal(written[shift][0], written[0.0][0]))
            moved = written[shift][1].logit() - written[0.0][1].logit()
            torch.testing.assert_close(moved, torch.full_like(moved, shift), rtol=0, atol=1e-3)
            self.assertEqual(written[shift][2].unique().tolist(), [0, 1])  # corrected: cut at zero, after no shift
            self.assertNotEqual(written[shift][3].mean(), written[0.0][3].mean())
        both, first = remembered(0.0, joined=True), written[0.0][1]
        self.assertTrue(torch.equal(both[0], written[0.0][0]))
        self.assertTrue(torch.equal(both[1][0], torch.maximum(first[0], first[1])))
        self.assertTrue(torch.equal(both[1][1], first[1]))
        self.assertFalse(torch.equal(first[0], both[1][0]))  # else it tells nothing

    def test_a_mistake_takes_the_other_target_of_the_clip(self):
        high = torch.zeros(4, 1, 2, 2)
        high[0, 0, 0, 0], high[1, 0, 1, 1], high[2, 0, 0, 1], high[3, 0, 1, 0] = 0.9, 0.8, 0.7, 0.6
        both = losses.with_other(high, torch.tensor([True, False, False, True]))
        self.assertTrue(torch.equal(both[0], torch.maximum(high[0], high[1])))
        self.assertTrue(torch.equal(both[1:3], high[1:3]))
        self.assertTrue(torch.equal(both[3], torch.maximum(high[2], high[3])))
        self.assertIs(losses.with_other(high, torch.zeros(4, dtype=torch.bool)), high)

    def test_how_many_targets_memory_errs_about(self):
        """The shares, within four standard deviations; targets alone in their clip are never joined."""
        torch.manual_seed(SEED)
        n, wrong = 4000, 0.4
        shifts, joined = losses.mistakes((n // 2, 2), wrong, "cpu")
        for found, wanted in ((shifts != 0, wrong), (joined, 0.3 * wrong)):
            self.assertAlmostEqual(found.float().mean().item(), wanted, delta=4 * (wanted * (1 - wanted) / n) ** 0.5)
        self.assertLessEqual(shifts.abs().max(), 2.5)
        self.assertFalse(losses.mistakes((n, 1), wrong, "cpu")[1].any())


class Costs(unittest.TestCase):
    def test_the_box_around_a_thing(self):
        truth = torch.zeros(2, 40, 60)
        truth[0, 10:20, 20:40] = 1
        near = losses.around(truth, room=0.2)
        wanted = torch.zeros(40, 60)
        wanted[8:22, 16:44] = 1
        self.assertTrue(near[0].equal(wanted))
        self.assertFalse(near[1].any())  # nothing is there

    def test_a_mistake_in_the_box_costs_more(self):
        truth = torch.zeros(1, 40, 60)
        truth[0, 10:20, 20:40] = 1
        masks = (20 * truth - 10)[:, None].repeat(1, 3, 1, 1)
        masks[0, 1, 8:10, 20:40] = 10  # beside the thing
        masks[0, 2, 30:32, 20:40] = 10  # as much, far from it
        costs, ious = losses.mask_costs(masks, truth, torch.ones_like(truth))
        self.assertGreater(costs[0, 1], 1.5 * costs[0, 2])
        self.assertGreater(costs[0, 2], 10 * costs[0, 0])
        self.assertEqual(ious[0, 0], 1)
        self.assertEqual(ious[0, 1], ious[0, 2])


    def test_labels_are_carried_by_attention(self):
        """Weights that look at the thing where it was cost nothing; those that look elsewhere do, but where it is unknown."""
        remembered, wanted = torch.zeros(1, 32), torch.zeros(1, 4, 4)
        remembered[0, 5], wanted[0, 2, 2] = 1, 1
        right = torch.zeros(1, 1, 16, 33)  # the last key is no cell
        right[..., 0] = 1
        right[0, 0, 10] = torch.eye(33)[5]
        known, alive = torch.ones_like(wanted), torch.ones(1)
        self.assertLess(losses.carried_cost(right, remembered, wanted, known, alive), 1e-3)
        wrong = right.clone()
        wrong[0, 0, 10] = torch.eye(33)[32]
        self.assertGreater(losses.carried_cost(wrong, remembered, wanted, known, alive), 1)
        known[0, 2, 2] = 0
        self.assertLess(losses.carried_cost(wrong, remembered, wanted, known, alive), 1e-3)


class Followed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """A textured disc over a still texture, 3 px a frame at the size of tracks."""
        rng = np.random.default_rng(SEED)

        def texture(h, w):
            coarse = rng.integers(40, 215, (h // 16, w // 16, 3), np.uint8)
            return cv2.resize(coarse, (w, h), interpolation=cv2.INTER_CUBIC)

        ground, skin = texture(bank.HEIGHT, bank.WIDTH), texture(bank.HEIGHT, bank.WIDTH)
        yy, xx = np.mgrid[: bank.HEIGHT, : bank.WIDTH]
        cls.frames, cls.truths = [], []
        for t in range(8):
            inside = (xx - 180 - 6 * t) ** 2 + (yy - 140) ** 2 < 50**2
            cls.frames.append(np.where(inside[..., None], np.roll(skin, 6 * t, 1), ground))
            cls.truths.append(cv2.resize(inside.astype(np.uint8), tracks.MAP, interpolation=cv2.INTER_AREA) > 0)

    def check(self, masks, first):
        for mask, truth in zip(masks, self.truths[first:]):
            found, known = mask > 192, mask != tracks.UNKNOWN
            iou = (found & truth & known).sum() / ((found | truth) & known).sum()
            # Flow is blurred over some 3 of the disc's 25 pixels of radius.
            self.assertGreater(iou, 0.7)

    def test_a_moving_disc_is_found_and_followed(self):
        colours, forward, backward = tracks.flows_of(self.frames)
        things = tracks.moving(colours[1], forward[0:3])
        self.assertEqual(len(things), 1)
        masks = tracks.follow(things[0], colours[1:7], forward[1:6], backward[1:6])
        self.assertEqual(len(masks), 6)
        self.check(masks, 1)

    def test_an_outline_is_followed_both_ways(self):
        """The second of two videos, the outline in its frame 4, of 8."""
        still = np.stack([self.frames[0]] * 3)
        outline = cv2.resize(self.truths[4].astype(np.uint8), outlines.SIZE, interpolation=cv2.INTER_NEAREST) > 0
        [(first, masks, moves)] = tracks.of_masks([still, np.stack(self.frames)], [(3 + 4, outline, True)])
        self.assertEqual((first, len(masks), moves), (3, 8, True))
        self.check(masks, 0)


if __name__ == "__main__":
    unittest.main()
