# SPDX-License-Identifier: MIT
"""Pictures with masks as samples: what is read, what is kept apart, what the samples say."""

import os
import tempfile
import unittest
from unittest import mock

import bank
import cv2
import data
import numpy as np
import pictures
import torch
import watch

SIZE = 64


def write(path, array):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    cv2.imwrite(path, array)


def scene(seed):
    """A red and a blue square on grey, and their numbers, 1 and 2."""
    dice = np.random.default_rng(seed)
    image, labels = np.full((80, 100, 3), 90, np.uint8), np.zeros((80, 100), np.uint8)
    for number, colour in ((1, (0, 0, 255)), (2, (255, 0, 0))):  # as files have it: blue first
        x, y = int(dice.integers(5, 30) + 40 * (number - 1)), int(dice.integers(5, 45))
        image[y : y + 25, x : x + 25], labels[y : y + 25, x : x + 25] = colour, number
    return image, labels


class Samples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        root = cls.folder.name
        for i in range(20):
            image, labels = scene(i)
            write(f"{root}/squares/images/{i}.png", image)
            write(f"{root}/squares/masks/{i}.png", labels)
        for c in range(4):
            for t in range(6):
                image, labels = scene(c)
                write(f"{root}/moving/{c}/frames/{t}.png", np.roll(image, t, 1))
                write(f"{root}/moving/{c}/masks/{t}.png", np.roll(labels, t, 1))
        write(f"{root}/cut/green.png", np.dstack([np.full((20, 20, 3), (0, 255, 0), np.uint8), np.full((20, 20), 255, np.uint8)]))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def setUp(self):
        self.all = pictures.Collection(self.folder.name)

    def test_what_is_kept_apart_is_not_trained_on(self):
        apart = [pictures.stem(p[0]) for p in self.all.apart["squares"]]
        used = [pictures.stem(p[0]) for p in self.all.stills["squares"]]
        self.assertEqual(sorted(apart + used, key=int), [str(i) for i in range(20)])
        self.assertEqual(sorted(apart, key=int), [str(i) for i in range(20) if pictures.is_apart(str(i))])
        self.assertTrue(apart)
        self.assertEqual(len(self.all.clips) + len(self.all.clips_apart), 4)
        self.assertEqual(len(self.all.cutouts), 1)
        self.assertEqual(self.all.licences, dict.fromkeys(("cut", "moving", "squares"), "not told"))

    def test_masks_lie_on_their_things(self):
        """Of a sample's own colours nothing is known; but what a mask covers is of one colour, unlike the ground."""
        make = pictures.Pictures(self.all, SIZE)
        for seed, steps in ((1, 1), (2, 4)):
            torch.manual_seed(seed)
            made = make(6, steps)
            self.assertEqual(made.frames.shape, (6, steps, 3, SIZE, SIZE))
            self.assertEqual(made.masks.shape, (6, steps, 2, SIZE, SIZE))
            self.assertTrue(((made.masks == 0) | (made.masks == 1)).all())
            self.assertTrue((made.present[:, 0, 0] == 1).all())
            self.assertEqual((made.masks.sum((3, 4)) > pictures.ABSENT_PX).float().tolist(), made.present.tolist())
            self.assertTrue((made.masks.sum(2) <= 1).all())
            for row in range(6):
                inside = made.masks[row, 0, 0] > 0
                colours = made.frames[row, 0][:, inside]
                spread = (colours - colours.median(1, keepdim=True).values).abs().amax(0)
                self.assertGreater((spread < 60).float().mean().item(), 0.7)

    def test_the_same_seed_makes_the_same(self):
        make, found = pictures.Pictures(self.all, SIZE), []
        for _ in range(2):
            torch.manual_seed(7)
            found.append(make(2, 3))
        self.assertTrue(torch.equal(found[0].frames, found[1].frames))
        self.assertFalse(torch.equal(found[0].frames, make(2, 3).frames))

    def test_things_move_and_go_away(self):
        make, moved, gone = pictures.Pictures(self.all, SIZE), 0, 0
        torch.manual_seed(11)
        made = make(24, 5)
        for row in range(24):
            moved += not torch.equal(made.masks[row, 0, 0], made.masks[row, -1, 0])
            gone += bool((made.present[row, 1:] < made.present[row, :1]).any())
        self.assertGreater(moved, 12)
        self.assertGreater(gone, 0)

    def test_another_thing_comes_while_one_is_away(self):
        """It has a number of its own, is of the same collection, and is never there before the thing has left."""
        make, met, back = pictures.Pictures(self.all, SIZE), 0, 0
        for seed in range(240):
            make.dice = np.random.default_rng(seed)
            labels = make.scene(6)[1]
            for i in range(2):
                one, other = ((labels == n + i).any((1, 2)) for n in (pictures.PASTED, pictures.OTHERS))
                self.assertFalse(other[0])
                if other.any() and one[0]:
                    met += 1
                    self.assertFalse(one[np.argmax(other)], f"seed {seed}: the other is there before the thing has left")
                    back += one[np.argmax(other) :].any()
        self.assertGreater(met, 5)
        self.assertGreater(back, 0)
        for kind in ("squares", ""):
            self.assertEqual(make.sprite(kind)[1], kind)

    def test_what_comes_late_comes_to_its_place(self):
        """In its first frame it is one step from there, 0.05 of the side (one sigma); only what returns may be elsewhere."""
        make, sprite, place = pictures.Pictures(self.all, SIZE), np.full((20, 20, 4), 255, np.uint8), np.array([0.5, 0.5])
        far = {}
        for gone in ((True, False), (False, True, False)):
            for seed in range(60):
                make.dice = np.random.default_rng(seed)
                labels = np.zeros((len(gone), SIZE, SIZE), np.uint8)
                make.paste(np.zeros((*labels.shape, 3), np.uint8), labels, sprite, 1, np.array(gone), place)
                self.assertEqual(labels.any((1, 2))[:-1].tolist(), [not g for g in gone[:-1]])
                if labels[-1].any():  # elsewhere it may leave the picture at once
                    away = np.array(pictures.extent(labels[-1] == 1)[:2]) / SIZE - place
                    far.setdefault(gone[0], []).append(abs(away).max())
        self.assertLess(max(far[True]), 0.25)
        self.assertGreater(max(far[False]), 0.25)

    def test_mixed_with_another_generator(self):
        make = pictures.Pictures(self.all, SIZE)
        other = data.Generator(bank.Bank(bank.shared(bank.invent(1)), None, "cpu"), SIZE, "cpu")
        for single, clips in ((1.0, 0.0), (0.0, 1.0), (0.5, 0.5)):
            mixed = pictures.Mixture(make, other, single, clips)
            self.assertEqual([len(mixed(4, steps).frames) for steps in (1, 2)], [4, 4])

    def test_refuses_a_folder_without_pictures(self):
        with self.assertRaisesRegex(bank.BankError, "no pictures with masks"):
            pictures.Collection(os.path.join(self.folder.name, "cut"))

    def test_looks_are_what_is_kept_apart(self):
        found = watch.looks(self.folder.name, None, SIZE)
        self.assertEqual(list(found), ["squares"])
        self.assertEqual(len(found["squares"]), 2 * len(self.all.apart["squares"]))
        for image, mask in found["squares"]:
            self.assertEqual((image.shape, mask.shape), ((1, 3, SIZE, SIZE), (1, 1, SIZE, SIZE)))
            self.assertGreater(mask.mean().item(), 0.03)

    def test_answers_are_judged(self):
        """A network that answers with the truth to all prompts scores 1, and its predicted IoU of 0.9 is wrong by 0.1."""
        looks, asked = watch.looks(self.folder.name, None, SIZE), []
        truths = [watch.losses.quartered(m)[0, 0] for _, m in looks["squares"] for _ in range(2)]

        def answer(net, maps, given):
            asked.append(given)
            right = torch.where(truths[len(asked) - 1] > 0.5, 5.0, -5.0)
            return right.expand(4, -1, -1), torch.full((4,), 0.9)

        with mock.patch.object(watch, "answer_to", answer), mock.patch.object(watch.model, "encode", lambda *_: None):
            found = watch.answers(watch.model.build(watch.model.sized(watch.model.NANO, SIZE)), looks)
        self.assertEqual(found["click_box"], {"squares": [1.0, 1.0]})
        self.assertEqual([found[k] for k in ("apart", "click", "best", "error")], [[1.0, 1.0], 1.0, 1.0, 0.1])
        for (points, labels), (_, mask) in zip(asked[::2], looks["squares"]):
            x, y = points[0, 0].long().tolist()
            self.assertEqual((labels.tolist(), mask[0, 0, y, x].item()), ([[1]], 1.0))


if __name__ == "__main__":
    unittest.main()
