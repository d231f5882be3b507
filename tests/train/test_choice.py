# SPDX-License-Identifier: MIT
"""The head that predicts IoUs, taught alone."""

import copy
import unittest

import bank
import choice
import data
import losses
import model
import torch

SEED = 31


class Choosing(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        torch.manual_seed(SEED)
        cls.net = model.build(model.sized(model.NANO, 64)).eval()
        cls.make = data.Generator(bank.Bank(bank.shared(bank.invent(SEED)), None, "cpu"), 64, "cpu")

    def test_what_is_kept_belongs_together(self):
        """The head gives for each kept input the IoUs that were judged with it; answers by mask 0 are left out."""
        noted, judge = [], losses.decoder_cost
        with choice.Answers(self.net) as answers, torch.no_grad():
            keep = losses.decoder_cost

            def note(masks, ious, *rest, **named):
                noted.append(ious)
                return keep(masks, ious, *rest, **named)

            losses.decoder_cost = note
            torch.manual_seed(SEED)
            losses.stills(self.net, self.make(2, 1), clicks=2)
            losses.follow(self.net, self.make(1, 3), "point")
        self.assertIs(losses.decoder_cost, judge)
        self.assertEqual([len(s) for s in answers.seen], [len(t) for t in answers.true])
        for seen, ious in zip(answers.seen, noted):
            torch.testing.assert_close(self.net.mask_decoder.iou_prediction_head(seen), ious)
        self.assertTrue(answers.alone[0].all())  # the box
        self.assertFalse(answers.alone[1].any())
        self.assertTrue(answers.counts[1].any())
        seen, real, alone = answers.rows()
        self.assertEqual((len(seen), real.shape[1], len(alone)), (sum(c.sum() for c in answers.counts), 4, len(seen)))

    def test_the_choice_grows_better_and_nothing_else_changes(self):
        """IoUs that follow from the input: the head learns to choose and to tell, on others than it was taught with."""
        net = copy.deepcopy(self.net)
        before = {k: v.clone() for k, v in net.state_dict().items()}
        torch.manual_seed(SEED)
        seen, way = torch.randn(3000, 128), torch.randn(128, 4)
        real, alone = (seen @ way / 16).sigmoid(), torch.rand(3000) < 0.3
        head, rows, apart = net.mask_decoder.iou_prediction_head, slice(2500), slice(2500, None)
        first, best, most = choice.teach(head, *([x[s] for x in (seen, real, alone)] for s in (rows, apart)))
        print(f"seed {SEED}: {first} before, {best} after, {most:.3f} at best")
        self.assertGreater(best[0] - first[0], 0.7 * (most - first[0]))
        self.assertLess(best[1], 0.02)
        self.assertEqual(choice.judged(head, [x[apart] for x in (seen, real, alone)]), best)
        changed = {k for k, v in net.state_dict().items() if not v.equal(before[k])}
        self.assertTrue(changed and all("iou_prediction_head" in k for k in changed), changed)

    def test_how_far_predictions_are_off(self):
        """Two tenths: 0.25 where 0.5 came out half of the time, 0.85 where 0.8 did; what is right on the mean is right."""
        expected = torch.tensor([0.25, 0.25, 0.85, 0.85])
        self.assertAlmostEqual(choice.off(expected, torch.tensor([0.0, 1.0, 0.8, 0.8])), (0.5 + 0.1) / 4, places=6)
        self.assertAlmostEqual(choice.off(expected, torch.tensor([0.0, 0.5, 0.7, 1.0])), 0, places=6)

    def test_a_sure_thing_half_of_the_time_is_predicted_as_half(self):
        """Squares: the head's mean, not its median, for what cannot be told from the input."""
        real = torch.tensor([[0.9] * 4, [0.9] * 4, [0.0] * 4])
        guesses = torch.linspace(0, 1, 101)
        cost = torch.stack([losses.judgement_cost(g.expand(3, 4), real).mean() for g in guesses])
        self.assertAlmostEqual(guesses[cost.argmin()].item(), 0.6, places=6)


if __name__ == "__main__":
    unittest.main()
