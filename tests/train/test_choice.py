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
        self.assertFalse(answers.counts[0].any())  # the box
        self.assertTrue(answers.counts[1].any())
        seen, real = answers.rows()
        self.assertEqual((len(seen), real.shape[1]), (sum(c.sum() for c in answers.counts), 4))

    def test_the_choice_grows_better_and_nothing_else_changes(self):
        """IoUs that follow from the input: the head learns to choose, on others than it was taught with."""
        net = copy.deepcopy(self.net)
        before = {k: v.clone() for k, v in net.state_dict().items()}
        torch.manual_seed(SEED)
        seen, way = torch.randn(3000, 128), torch.randn(128, 4)
        real = (seen @ way / 16).sigmoid()
        head = net.mask_decoder.iou_prediction_head
        first, best, most = choice.teach(head, (seen[:2500], real[:2500]), (seen[2500:], real[2500:]))
        print(f"seed {SEED}: {first:.3f} before, {best:.3f} after, {most:.3f} at best")
        self.assertGreater(best - first, 0.7 * (most - first))
        self.assertAlmostEqual(choice.taken(head(seen[2500:]), real[2500:]), best, places=6)
        changed = {k for k, v in net.state_dict().items() if not v.equal(before[k])}
        self.assertTrue(changed and all("iou_prediction_head" in k for k in changed), changed)


if __name__ == "__main__":
    unittest.main()
