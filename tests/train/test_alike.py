# SPDX-License-Identifier: MIT
"""The first layer of memory attention, made to look for what looks alike."""

import copy
import os
import unittest

import alike
import bank
import data
import losses
import model
import torch

SEED = 37
NANO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../models/samtrack-nano.safetensors")


def network():
    torch.manual_seed(SEED)
    net = model.build(model.sized(model.NANO, 64)).eval()
    model.start_local(net)
    return net


class Fits(unittest.TestCase):
    def test_a_linear_map_is_found(self):
        torch.manual_seed(SEED)
        true, pairs = torch.randn(17, 5), alike.Pairs()
        for _ in range(3):
            x = torch.randn(2, 100, 16)
            pairs.add(0, x, alike.with_one(x) @ true)
            pairs.add(1, x[..., :8], x[..., :5])
        found, other = pairs.fits()
        # The ridge of a thousandth shrinks the map by about as much.
        self.assertLess((found - true).abs().max(), 0.01)
        self.assertLess((other[:5] - torch.eye(5)).abs().max(), 0.01)

    def test_products_are_those_of_the_fits(self):
        """Before rotation, the slow half gives SHARP times the products of the fits; nothing else of the network changes."""
        net = network()
        before = {k: v.clone() for k, v in net.state_dict().items()}
        of_queries, of_keys = torch.randn(129, 128), torch.randn(33, 128)
        alike.install(net, of_queries, of_keys)
        reader, rows = net.memory_attention.layers[0].cross_attn_image, alike.slow(128)
        query, key = torch.randn(50, 128), torch.randn(60, 32)
        found = reader.q_proj(query)[:, rows] @ reader.k_proj(key)[:, rows].T * reader.scaling
        wanted = alike.SHARP * (alike.with_one(query) @ of_queries) @ (alike.with_one(key) @ of_keys).T
        self.assertLess((found - wanted).abs().max() / wanted.abs().max(), 1e-5)
        quick = [i for i in range(128) if i not in set(rows.tolist())]
        changed = {k for k, v in net.state_dict().items() if not v.equal(before[k])}
        name = "memory_attention.layers.0.cross_attn_image"
        self.assertEqual(changed, {f"{name}.{p}_proj.{w}" for p in "qk" for w in ("weight", "bias")})
        for p in "qk":
            weight, bias = (net.state_dict()[f"{name}.{p}_proj.{w}"][quick] for w in ("weight", "bias"))
            self.assertTrue(weight.equal(before[f"{name}.{p}_proj.weight"][quick]))
            self.assertTrue(bias.equal(before[f"{name}.{p}_proj.bias"][quick] * alike.NEARER))


class Carrying(unittest.TestCase):
    def test_labels_are_carried_better(self):
        """On clips that it was not fitted on; before, the layer looks at the same place only, as at the start of training."""
        torch.manual_seed(SEED)
        net = model.load(NANO, model.sized(model.read(NANO)[0], 128)).eval()
        reader = net.memory_attention.layers[0].cross_attn_image
        for linear in (reader.q_proj, reader.k_proj):
            linear.reset_parameters()
        model.start_local(net)
        make = data.Generator(bank.Bank(bank.shared(bank.invent(SEED)), None, "cpu"), 128, "cpu")
        changed = copy.deepcopy(net)
        alike.install(changed, *alike.collect(changed, make, 4, SEED).fits())
        costs = [self.cost(n, make) for n in (net, changed)]
        print(f"seed {SEED}: cost of carried labels {costs[0]:.3f} by place, {costs[1]:.3f} by looks and place")
        self.assertLess(costs[1], 0.95 * costs[0])

    @staticmethod
    def cost(net, make):
        """The mean of losses.carried_cost() over clips."""
        costs, judge = [], losses.carried_cost

        def note(*given):
            costs.append(judge(*given))
            return costs[-1]

        losses.carried_cost = note
        try:
            with torch.no_grad():
                for i in range(4):
                    torch.manual_seed(SEED + 100 + i)
                    losses.follow(net, make(2, 8), "mask", own=0.0)
        finally:
            losses.carried_cost = judge
        return torch.stack(costs).mean().item()


if __name__ == "__main__":
    unittest.main()
