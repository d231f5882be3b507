# SPDX-License-Identifier: MIT
import contextlib
import io
import json
import os
import tempfile
import unittest
from unittest import mock

import mix
import model
import pooling
import torch

SEED = 7
SMALL = model.sized(model.NANO | {"num_maskmem": 5}, 64)


def run(*arguments):
    """(exit status, what it said on stderr)."""
    said = io.StringIO()
    with mock.patch("sys.argv", ["mix.py", *arguments]), contextlib.redirect_stderr(said):
        return mix.main(), said.getvalue()


class Mix(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        torch.manual_seed(SEED)
        cls.folder = tempfile.TemporaryDirectory()
        cls.files = [os.path.join(cls.folder.name, f"{n}.safetensors") for n in "ab"]
        for path in cls.files:
            model.save(model.build(SMALL), path)
        cls.out = os.path.join(cls.folder.name, "out.safetensors")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_the_weighted_mean(self):
        self.assertEqual(run("--out", self.out, f"{self.files[0]}=1", f"{self.files[1]}=3"), (0, ""))
        (_, a), (_, b) = (model.read(f) for f in self.files)
        config, found = model.read(self.out)
        self.assertEqual(config, SMALL)
        for name, value in found.items():
            # fp16 has eleven bits.
            torch.testing.assert_close(value, 0.25 * a[name] + 0.75 * b[name], rtol=1e-3, atol=1e-5)

    def test_another_size_and_fewer_maps(self):
        self.assertEqual(run("--out", self.out, "--size", "96", "--maps", "3", self.files[0]), (0, ""))
        config, found = model.read(self.out)
        self.assertEqual((config["image_size"], config["trunk"]["window_spec"]), (96, [8, 4, 6, 3]))
        self.assertEqual((config["num_maskmem"], SMALL["image_size"]), (3, 64))
        _, state = model.read(self.files[0])
        # The two youngest, and that of prompted frames.
        self.assertTrue(found[mix.TIMES].equal(state[mix.TIMES][[0, 1, 4]]))
        self.assertEqual(model.load(self.out).image_size, 96)

    def test_more_maps_than_it_was_trained_with(self):
        self.assertEqual(run("--out", self.out, "--maps", "7", self.files[0]), (0, ""))
        config, found = model.read(self.out)
        self.assertEqual(config, SMALL | {"num_maskmem": 7})
        _, state = model.read(self.files[0])
        # The older ones are where the oldest was; that of prompted frames stays last.
        self.assertTrue(found[mix.TIMES].equal(state[mix.TIMES][[0, 1, 2, 3, 3, 3, 4]]))
        self.assertEqual(len(model.load(self.out).memory_temporal_positional_encoding), 7)

    def test_the_frames_that_are_remembered(self):
        for wanted in ("all", "present"):
            self.assertEqual(run("--out", self.out, "--selection", wanted, self.files[0]), (0, ""))
            self.assertEqual(model.read(self.out)[0], SMALL | {"memory_selection": wanted})

    def test_two_sizes(self):
        self.assertEqual(run("--out", self.out, "--size-bf16", "96", self.files[0]), (0, ""))
        self.assertEqual(model.read(self.out)[0], SMALL | {"image_size_bf16": 96})
        self.assertEqual(run("--out", self.out, "--size-bf16", "0", self.out), (0, ""))
        self.assertEqual(model.read(self.out)[0], SMALL)
        status, said = run("--out", self.out, "--size-bf16", "100", self.files[0])
        self.assertEqual((status, said.strip()), (1, "mix.py: --size-bf16: 100 is neither 0 nor a multiple of 32 from 64 on"))

    def test_what_is_told(self):
        curve = [i / 10 for i in range(11)]
        told = json.dumps({"tracked": curve})
        self.assertEqual(run("--out", self.out, "--told", told, self.files[0]), (0, ""))
        self.assertEqual(model.read(self.out)[0], SMALL | {"told_iou": {"tracked": curve}})
        self.assertEqual(run("--out", self.out, "--told", "{}", self.out), (0, ""))
        self.assertEqual(model.read(self.out)[0], SMALL)
        for wrong in ("{", "[]", '{"tracked": 1}', '{"tracked": [1, "a"]}', '{"old": []}', '{"tracked": [0.5]}', json.dumps({"clicks": curve[::-1]})):
            status, said = run("--out", self.out, "--told", wrong, self.files[0])
            self.assertEqual(status, 1)
            self.assertIn(f"mix.py: --told: {wrong}: not an object with clicks, boxes or tracked", said)

    def test_how_memory_is_read(self):
        self.assertEqual(run("--out", self.out, "--pooling", "counted", self.files[0]), (0, ""))
        self.assertEqual(model.read(self.out)[0], SMALL | {"memory_pooling": "counted"})
        self.assertEqual(run("--out", self.out, "--pooling", "counted", "--pooling-from", "448", self.files[0]), (0, ""))
        self.assertEqual(model.read(self.out)[0], SMALL | {"memory_pooling": "counted", "memory_pooling_from": 448})
        for side, kind in ((416, "none"), (448, "counted")):
            self.assertEqual(pooling.kind_of(model.sized(model.read(self.out)[0], side)), kind)
        for word, wanted in (("yes", True), ("no", False)):
            self.assertEqual(run("--out", self.out, "--pooling-between", word, self.out), (0, ""))
            self.assertEqual(pooling.is_between(model.read(self.out)[0]), wanted)
        config = {k: v for k, v in model.read(self.out)[0].items() if k != "memory_pooling_between"}
        self.assertEqual(config, SMALL | {"memory_pooling": "counted", "memory_pooling_from": 448})
        self.assertEqual(run("--out", self.out, "--pooling-from", "0", self.out), (0, ""))
        self.assertEqual(model.read(self.out)[0], SMALL | {"memory_pooling": "counted", "memory_pooling_between": False})
        config = SMALL | {"memory_pooling": "some"}
        with self.assertRaisesRegex(model.ModelError, "memory_pooling 'some': wanted none, counted or shifted"):
            model.build(config)

    def test_the_precision_of_maps(self):
        for word, wanted in (("yes", True), ("no", False)):
            self.assertEqual(run("--out", self.out, "--exact-maps", word, self.files[0]), (0, ""))
            self.assertEqual(model.read(self.out)[0], SMALL | {"exact_maps": wanted})

    def test_the_window_of_a_box(self):
        self.assertEqual(run("--out", self.out, "--box-zoom", "1.5", self.files[0]), (0, ""))
        self.assertEqual(model.read(self.out)[0], SMALL | {"box_zoom": 1.5})
        for key, value, wrong, most in (("piece_reach", 0.25, 9, 8), ("odds_exponent", 1, 5, 4)):
            option = f"--{key.replace('_', '-')}"
            self.assertEqual(run("--out", self.out, option, str(value), self.files[0]), (0, ""))
            self.assertEqual(model.read(self.out)[0], SMALL | {key: value})
            self.assertEqual(run("--out", self.out, option, "0", self.out), (0, ""))
            self.assertEqual(model.read(self.out)[0], SMALL)
            status, said = run("--out", self.out, option, str(wrong), self.files[0])
            self.assertEqual((status, said.strip()), (1, f"mix.py: {option}: {wrong} is neither 0 nor from 0.01 to {most}"))
        self.assertEqual(run("--out", self.out, "--click-zoom", "1.4", self.files[0]), (0, ""))
        self.assertEqual(model.read(self.out)[0], SMALL | {"click_zoom": 1.4})
        status, said = run("--out", self.out, "--click-zoom", "9", self.files[0])
        self.assertEqual((status, said.strip()), (1, "mix.py: --click-zoom: 9 is neither 0 nor from 1 to 8"))
        status, said = run("--out", self.out, "--box-zoom", "0.5", self.files[0])
        self.assertEqual((status, said.strip()), (1, "mix.py: --box-zoom: 0.5 is neither 0 nor from 1 to 8"))

    def test_recall(self):
        status, said = run("--out", self.out, "--recall", "2", self.files[0])
        self.assertEqual((status, said.count("has no target model")), (1, 1))
        target = {"channels": 4, "weight": 1.5}
        given = os.path.join(self.folder.name, "given.safetensors")
        model.save(model.build(SMALL | {"target_model": target}), given)
        self.assertEqual(run("--out", self.out, "--recall", "2", given), (0, ""))
        recall = {"recall": {"weight": 2, "likeness": mix.LIKENESS}}
        self.assertEqual(model.read(self.out)[0], SMALL | {"target_model": target | recall})
        for drops, pieces in (("yes", {"pieces": True}), ("no", {})):
            self.assertEqual(run("--out", self.out, "--recall-pieces", drops, self.out), (0, ""))
            self.assertEqual(model.read(self.out)[0], SMALL | {"target_model": target | {"recall": recall["recall"] | pieces}})
        status, said = run("--out", self.out, "--recall-pieces", "yes", given)
        self.assertEqual((status, said.count("it asks no nearest neighbours")), (1, 1))
        self.assertEqual(run("--out", self.out, "--recall", "0", self.out), (0, ""))
        self.assertEqual(model.read(self.out)[0], SMALL | {"target_model": target})
        status, said = run("--out", self.out, "--recall", "-1", given)
        self.assertEqual((status, said.strip()), (1, "mix.py: --recall: -1 is not from 0 to 100"))

    def test_says_that_a_file_cannot_be_written(self):
        status, said = run("--out", os.path.join(self.folder.name, "none", "x.safetensors"), self.files[0])
        self.assertEqual((status, said.count("none/x.safetensors: cannot be written: "), said.count("\n")), (1, 1, 1))

    def test_random_walks(self):
        self.assertEqual(run("--out", self.out, "--random-walk", "0.05", self.files[0]), (0, ""))
        self.assertEqual(model.read(self.out)[0], SMALL | {"random_walk": {"fidelity": 0.05}})
        self.assertEqual(run("--out", self.out, "--random-walk", "0", self.out), (0, ""))
        self.assertEqual(model.read(self.out)[0], SMALL)
        status, said = run("--out", self.out, "--random-walk", "-1", self.files[0])
        self.assertEqual((status, said.strip()), (1, "mix.py: --random-walk: -1 is neither 0 nor from 0.0001 to 1000"))

    def test_a_lead_answers_as_mask_0_does(self):
        """Of equal weights, masks 0 and 2 are equal, and 2 is chosen; the others are as before."""
        self.assertEqual(run("--out", self.out, "--lead", "2", self.files[0]), (0, ""))
        before, net = model.load(self.files[0]), model.load(self.out)
        torch.manual_seed(SEED)
        with torch.inference_mode():
            maps = model.encode(net, torch.randn(1, 3, 64, 64))
            points = model.embed_points(net, torch.tensor([[[30.0, 20.0]]]), torch.tensor([[1]]))
            ask = (maps[2], *maps[:2], points, model.dense_none(net, 1))
            masks, ious, *_ = model.decode(net, *ask)
            old, *_ = model.decode(before, *ask)
        torch.testing.assert_close(masks[:, 2], masks[:, 0])
        self.assertGreater((old[:, 2] - old[:, 0]).abs().max(), 1e-3)
        self.assertTrue(0 < (ious[0, 2] - ious[0, 0]).item() <= mix.AHEAD)

    def test_refuses_in_one_sentence(self):
        for pattern, arguments in {
            "shares add up to 0": (f"{self.files[0]}=0",),
            "not a number": (f"{self.files[0]}=half",),
            "expected 2 to 16": ("--maps", "17", self.files[0]),
            "not a multiple of 32": ("--size", "100", self.files[0]),
            "not a readable safetensors file": (__file__,),
        }.items():
            status, said = run("--out", self.out, *arguments)
            self.assertEqual((status, len(said.strip().splitlines())), (1, 1), said)
            self.assertRegex(said, pattern)


if __name__ == "__main__":
    unittest.main()
