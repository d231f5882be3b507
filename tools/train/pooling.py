# SPDX-License-Identifier: MIT
"""Memory attention that reads fewer keys: "memory_pooling" in the configuration (docs/MODEL.md).

Where more than one map is remembered, keys (after their rotation) and values are the means of each map's cells of 2 x 2
positions; those of pointers stay. "counted": a mean counts as the four keys that it stands for. "shifted": 2 ln 2 is added to
every channel of a mean key instead. With "memory_pooling_between" the first map and the last one, which is the youngest, stay
as they are, and the means of the maps between come before them.
"""

import math
import types

import torch
from transformers.models.sam2_video.modeling_sam2_video import apply_rotary_pos_emb_2d

KINDS = ("none", "counted", "shifted")
FOUR = math.log(4)


def kind_of(config):
    """How a network of `config` reads its memory: inputs of less than "memory_pooling_from" px have maps that are too small."""
    return config.get("memory_pooling", "none") if config["image_size"] >= config.get("memory_pooling_from", 0) else "none"


def is_between(config):
    """Whether the first and the last map are left as they are."""
    return config.get("memory_pooling_between", False)


def parted(x, side, between):
    """Rows (..., maps * side^2, c) of maps: (means of cells of 2 x 2 positions, rows that stay); no means of a single map."""
    maps = x.unflatten(-2, (-1, side * side))
    if maps.shape[-3] == 1:
        averaged, whole = maps[..., :0, :, :], maps
    elif between:
        averaged, whole = maps[..., 1:-1, :, :], torch.cat((maps[..., :1, :, :], maps[..., -1:, :, :]), -3)
    else:
        averaged, whole = maps, maps[..., :0, :, :]
    cells = averaged.unflatten(-2, (side // 2, 2, side // 2, 2)).mean((-4, -2))
    return cells.flatten(-4, -2), whole.flatten(-3, -2)


def pooled(x, side, between=False):
    """What is read of rows of maps, in its order."""
    return torch.cat(parted(x, side, between), -2)


def install(reader, config, attention):
    """Have cross attention `reader` of a network of `config` pool its maps; `attention` is model.plain_attention()."""
    kind, side, between = kind_of(config), config["image_size"] // 16, is_between(config)

    def pool(x, pointers, shift=0.0):
        """(pooled rows of (n, 1, T, c), how many of them are means); `shift` is added to these."""
        maps, others = x.split((x.shape[2] - pointers, pointers), 2)
        means, whole = parted(maps, side, between)
        return torch.cat((means + shift, whole, others), 2), means.shape[2]

    def forward(self, query, key, value, position_embeddings, num_k_exclude_rope=0):
        q, k, v = (p(x) for p, x in zip((self.q_proj, self.k_proj, self.v_proj), (query, key, value)))
        cos, sin = position_embeddings
        q, k = apply_rotary_pos_emb_2d(q, k, cos, sin, repeat_freqs_k=True, num_k_exclude_rope=num_k_exclude_rope)
        k, means = pool(k, num_k_exclude_rope, FOUR if kind == "shifted" else 0.0)
        v, _ = pool(v, num_k_exclude_rope)
        counts = torch.zeros(k.shape[2], device=k.device)
        counts[: means if kind == "counted" else 0] = FOUR
        out, weights = attention(self, q, k, v, counts, self.scaling)
        return self.o_proj(out.flatten(2)[:, None]), weights

    reader.forward = types.MethodType(forward, reader)
