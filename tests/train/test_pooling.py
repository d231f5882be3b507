# SPDX-License-Identifier: MIT
"""Pooled memory: against the published EfficientTAM, against our own engine, and in training."""

import json
import os
import subprocess
import tempfile
import unittest
import unittest.mock

import bank
import data
import losses
import model
import pooling
import torch
import tracker
from safetensors.torch import load_file, save_file

SEED, FRAMES = 17, 6
GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../golden")
REPLAY = os.environ.get("SAM_REPLAY", "")
LITE = model.NANO | {
    "image_size": 128,
    "num_maskmem": 7,
    "box_zoom": 0,
    "trunk": {"kind": "efficientnet-lite", "stem": 8, "stages": [1, 2, 2, 1, 2, 1, 1], "widths": [8, 8, 12, 16, 20, 24, 36]},
}


def far(found, wanted):
    """Relative error in norm."""
    return ((found - wanted).norm() / wanted.norm()).item()


class Golden(unittest.TestCase):
    """Memory attention of the published code (tools/make_golden.py), with 1, 2 and 7 maps."""

    def network(self, kind):
        net = model.build(model.NANO | {"image_size": 64, "d_model": 32, "mem_dim": 8, "memory_pooling": kind}).eval()
        state = load_file(f"{GOLDEN}/e/model.safetensors")
        for layer in net.memory_attention.layers:
            layer.linear1, layer.linear2 = torch.nn.Linear(32, 64), torch.nn.Linear(64, 32)
        with torch.no_grad():
            for name, value in net.memory_attention.named_parameters():
                value.copy_(state[model.published_name(f"memory_attention.{name}")])
        return net

    def test_as_published(self):
        for kind, folder in (("counted", "e-1"), ("shifted", "e-2")):
            net = self.network(kind)
            position = model.sine_2d(net.vision_encoder.neck.position_encoding, 4).flatten(2).permute(2, 0, 1)
            for run, frame in (("click", "001/track"), ("click", "002/track"), ("click", "009/track"), ("refine", "009/prompt")):
                stored = load_file(f"{GOLDEN}/{folder}/{run}.safetensors")
                curr, memory, places, pointers, wanted = (
                    stored[f"obj1/frame{frame}/memory_attention.{k}"] for k in ("curr", "memory", "memory_pos", "num_ptr_tokens", "out")
                )
                with torch.no_grad():
                    found = net.memory_attention(curr, memory, position, places, int(pointers))
                # fp32 in another order: 1e-6 is what is seen.
                self.assertLess(far(found.flatten(), wanted.flatten()), 2e-5, f"{kind}, {run}, frame {frame}")


@unittest.skipUnless(REPLAY, "SAM_REPLAY names no sam-replay")
class Engine(unittest.TestCase):
    """Whole runs in fp32 with drawn weights: masks before their threshold, of every frame, are those of the engine."""

    def setUp(self):
        # A grid of 8 x 8: 64 positions of a map become 16. The frames are those of a golden, twice as wide and high.
        frames = load_file(f"{GOLDEN}/a/frames.safetensors")["frames"][:FRAMES]
        self.frames = frames.repeat_interleave(2, 1).repeat_interleave(2, 2).contiguous()
        self.click = [56.0, 68.0]

    def of_torch(self, net):
        one, lows, commit = tracker.Tracker(net), [], tracker.Tracker._commit

        def note(self, coarse, low, *given):
            lows.append(low[0].clone())
            return commit(self, coarse, low, *given)

        with unittest.mock.patch.object(tracker.Tracker, "_commit", note):
            for t, frame in enumerate(self.frames.permute(0, 3, 1, 2)[:, None]):
                one.track(frame) if t else one.prompt_points(frame, [self.click], [1])
        return torch.stack(lows)

    def of_engine(self, path, folder):
        save_file({"frames": self.frames}, f"{folder}/frames.safetensors")
        with open(f"{folder}/script.json", "w") as f:
            item = {"frame": 0, "obj": 1, "points": [self.click], "labels": [1]}
            json.dump({"image_size": 128, "T": len(self.frames), "scenarios": {"click": [item]}}, f)
        subprocess.run(
            [REPLAY, "--model", path, "--frames", f"{folder}/frames.safetensors", "--script", f"{folder}/script.json",
             "--scenario", "click", "--out", f"{folder}/out.safetensors", "--precision", "fp32", "--threads", "1"],
            check=True, stdout=subprocess.DEVNULL,
        )
        found = load_file(f"{folder}/out.safetensors")
        return torch.stack([found[f"obj1/frame{t:03d}/low_res"] for t in range(len(self.frames))])

    def test_masks_are_the_same(self):
        print(f"seed {SEED}")
        # Without pooling it is 8e-4, from the second map on; with the first and the last map whole, from the third.
        self.compare({"memory_pooling": "counted"}, LITE, 1)
        between = {"memory_pooling": "counted", "memory_pooling_between": True}
        self.compare(between, LITE, 2)
        self.compare(between, LITE | {"memory_pooling": "counted"}, 1)

    def compare(self, pooling, other, alike):
        """A network with `pooling` is the engine's; as `other` it is not, after the first `alike` frames that are tracked."""
        torch.manual_seed(SEED)
        net = model.build(LITE | pooling)
        with torch.no_grad():
            # The object is there in every frame, and memory counts.
            net.mask_decoder.pred_obj_score_head.proj_out.bias.fill_(8.0)
            for layer in net.memory_attention.layers:
                layer.cross_attn_image.k_proj.weight.mul_(4)
                layer.cross_attn_image.o_proj.weight.mul_(8)
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/m.safetensors"
            model.save(net, path)
            pooled, engine = self.of_torch(model.load(path)), self.of_engine(path, folder)
            plain = self.of_torch(model.load(path, other))
        for t in range(FRAMES):
            # fp32 is seen to differ by 2e-5, since memory is rounded to bf16.
            self.assertLess(far(pooled[t], engine[t]), 1e-4, f"{pooling}, frame {t}")
            self.assertGreater(far(plain[t], engine[t]), 2e-4 if t > alike else -1, f"{pooling}, frame {t}, as {other}")


class Training(unittest.TestCase):
    def test_labels_are_carried_by_means(self):
        """A mean's weight, spread over its four cells, carries their labels as it carries the mean of these."""
        torch.manual_seed(SEED)
        labels, weights = torch.rand(2, 3 * 64), torch.rand(2, 5, 3 * 16).softmax(2)
        spread = weights.view(2, 5, 3, 4, 1, 4, 1).expand(-1, -1, -1, -1, 2, -1, 2).reshape(2, 5, 192) / 4
        found = torch.einsum("nij,nj->ni", weights, pooling.pooled(labels[..., None], 8)[..., 0])
        torch.testing.assert_close(found, torch.einsum("nij,nj->ni", spread, labels))
        self.assertEqual(pooling.pooled(labels[:, :64, None], 8).shape[1], 64)

    def test_the_first_and_the_last_stay(self):
        torch.manual_seed(SEED)
        maps = torch.rand(2, 4 * 64, 3)
        means, whole = pooling.parted(maps, 8, True)
        torch.testing.assert_close(means, pooling.pooled(maps[:, 64:192], 8))
        torch.testing.assert_close(whole, torch.cat((maps[:, :64], maps[:, 192:]), 1))
        for rows in (64, 128):
            means, whole = pooling.parted(maps[:, :rows], 8, True)
            self.assertEqual(means.shape[1], 0)
            torch.testing.assert_close(whole, maps[:, :rows])

    def test_a_clip_is_learnt(self):
        for between in (False, True):
            self.learn(LITE | {"memory_pooling": "counted", "memory_pooling_between": between})

    def learn(self, config):
        torch.manual_seed(SEED)
        net = model.build(config)
        make = data.Generator(bank.Bank(bank.shared(bank.invent(SEED)), None, "cpu"), 128, "cpu")
        cost, _, _ = losses.follow(net, make(1, 4), "mask", carry=1.0)
        cost.backward()
        for layer in net.memory_attention.layers:
            for linear in (layer.cross_attn_image.k_proj, layer.cross_attn_image.v_proj):
                self.assertGreater(linear.weight.grad.abs().max(), 0)


if __name__ == "__main__":
    unittest.main()
