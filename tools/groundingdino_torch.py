# SPDX-License-Identifier: MIT
"""Grounding DINO and MM-Grounding DINO as transformers publishes them, with random lively weights: what
compare_detectors.py --mini writes the goldens of."""
import contextlib
import json
import math
import pathlib
import subprocess
import tempfile

import torch
import torch.nn.functional as F
import transformers.models.grounding_dino.modeling_grounding_dino as grounding_dino
import transformers.models.mm_grounding_dino.modeling_mm_grounding_dino as mm_grounding_dino
from safetensors.torch import load_file, save_file
from transformers import (BertConfig, BertTokenizerFast, GroundingDinoConfig, GroundingDinoForObjectDetection,
                          MMGroundingDinoConfig, MMGroundingDinoForObjectDetection, SwinConfig)

from mask2former_torch import prepare_shape

ENDS = ('[CLS]', '[SEP]', '.', '?')
# What is asked for: the second text begins with what the vocabulary lacks, and has a question mark inside.
TEXTS = ['red car. striped ball.', '\u4e2d blue fish? small. ball. a big red dog. cars.']

# Of the published vocabulary, and two words; the latter as a text and its tokens.
MARKS = {0: '[PAD]', 100: '[UNK]', 101: '[CLS]', 102: '[SEP]', 103: '[MASK]', 1012: '.', 1029: '?', 2000: 'wa', 2001: 'wb'}
TWO_WORDS, TWO_WORDS_IDS = 'wa. wb', [101, 2000, 1012, 2001, 1012, 102]


def fill(name, p, rng):
    """Weights with which every part of the network matters."""
    n = torch.randn(p.shape, generator=rng)
    if name.endswith('level_embed') or 'embeddings' in name and p.dim() == 2:
        return 0.5 * n
    if 'relative_position_bias_table' in name:
        return 0.5 * n
    if p.dim() >= 2:
        return n * (1.2 / math.sqrt(p[0].numel()))
    if 'norm' in name.lower() and name.endswith('weight'):
        return 1 + 0.2 * n
    if name.endswith('_param'):
        return 0.3 + 0.2 * n
    if 'sampling_offsets.bias' in name:
        return 2 * n
    return torch.tensor(-1.7) if p.dim() == 0 else 0.2 * n


def make_vocabulary():
    letters = 'abcdefghijklmnopqrstuvwxyz'
    words = ['red', 'car', 'striped', 'ball', 'blue', 'fish', 'small', 'big', 'dog', '##s']
    return ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]', '.', '?', *letters, *('##' + c for c in letters if c != 's'), *words]


def build(is_mm, words, seed, levels=4, **sizes):
    """levels=5: from all stages of Swin, as the published large one has them."""
    swin = SwinConfig(image_size=64, embed_dim=8, depths=[2, 1, 2, 1], num_heads=[1, 2, 2, 4], window_size=5, mlp_ratio=2,
                      out_indices=[2, 3, 4] if levels == 4 else [1, 2, 3, 4])
    text = BertConfig(hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=40, vocab_size=words,
                      max_position_embeddings=64)
    shared = dict(backbone_config=swin, text_config=text.to_dict(), d_model=32, encoder_layers=2, decoder_layers=3,
                  encoder_ffn_dim=48, decoder_ffn_dim=40, num_queries=20, encoder_n_points=3, decoder_n_points=2,
                  num_feature_levels=levels, **sizes)
    if is_mm:
        config = MMGroundingDinoConfig(decoder_bbox_embed_share=False, decoder_cls_embed_share=False, **shared)
        model = MMGroundingDinoForObjectDetection(config).eval()
    else:
        model = GroundingDinoForObjectDetection(GroundingDinoConfig(**shared)).eval()
    rng = torch.Generator().manual_seed(seed)
    for name, p in model.named_parameters():
        p.data.copy_(fill(name, p, rng))
    return model


def build_true(seed):
    """MM-Grounding DINO's and LLMDet's tiny at its published sizes."""
    swin = SwinConfig(image_size=224, embed_dim=96, depths=[2, 2, 6, 2], num_heads=[3, 6, 12, 24], window_size=7,
                      out_indices=[2, 3, 4])
    config = MMGroundingDinoConfig(backbone_config=swin, decoder_bbox_embed_share=False, decoder_cls_embed_share=False)
    model, rng = MMGroundingDinoForObjectDetection(config).eval(), torch.Generator().manual_seed(seed)
    for name, p in model.named_parameters():
        p.data.copy_(fill(name, p, rng))
    return model


def write_words(folder):
    """A vocabulary as large as BERT's, with its numbers of marks; the words that are known are wa and wb."""
    (folder / 'vocab.txt').write_text(''.join(MARKS.get(i, f'[w{i}]') + '\n' for i in range(30522)))


def input_shape(side, width, height):
    """The published size of an image, its limit in the proportion of 800 and 1333."""
    most = round(side * 1333 / 800)
    small, large = sorted((width, height))
    raw = side if large / small * side <= most else most * small / large
    sides = round(raw), int(raw * large / small)
    return sides if height <= width else sides[::-1]  # h, w


def run(model, image, ids):
    """The stages as the engine names them, each as rows of channels."""
    stages, hooks = {}, []
    tokens = len(ids)

    def keep(module, hook):
        hooks.append(module.register_forward_hook(lambda m, args, out: hook(out) and None))

    def put(name, t):  # the first time: likenesses are asked for again, of the chosen rows
        stages.setdefault(name, t.detach().reshape(-1, t.shape[-1]))

    inner = model.model
    first = model.config.backbone_config.out_indices[0]
    for i, layer in enumerate(inner.text_backbone.encoder.layer):
        keep(layer, lambda out, i=i: put(f'bert{i}', out[0] if isinstance(out, tuple) else out))
    keep(inner.text_projection, lambda out: put('text', out))
    keep(inner.backbone.conv_encoder.model, lambda out: [
        put(f'stage{k + first}', f[0].flatten(1).T) for k, f in enumerate(out.feature_maps)])
    keep(inner.encoder_output_class_embed, lambda out: put('candidates', out[0, :, :tokens]))
    for i, layer in enumerate(inner.encoder.layers):
        keep(layer, lambda out, i=i: (put(f'image{i}', out[0][0]), put(f'text{i}', out[0][1])))
    for i, layer in enumerate(inner.decoder.layers):
        keep(layer, lambda out, i=i: put(f'layer{i}', out[0]))
    with torch.no_grad():
        out = model(pixel_values=image, input_ids=torch.tensor([ids]), attention_mask=torch.ones(1, tokens, dtype=torch.long))
    for hook in hooks:
        hook.remove()
    put('references0', out.init_reference_points[0])
    for i in range(1, len(inner.decoder.layers)):
        put(f'references{i}', out.intermediate_reference_points[0][i - 1])
    put('logits', out.logits[0, :, :tokens])
    put('boxes', out.pred_boxes[0])
    return stages


def choose(stages, ids, ends, phrases, width, height):
    """Scores, labels, queries and boxes in px: of each query the phrase with the best token, by score; a box that
    overlaps one with a higher score by more than 0.8 is left out. phrases: of each token, or -1."""
    logits, boxes = stages['logits'], stages['boxes']
    owned = [i for i, p in enumerate(phrases) if p >= 0]
    best, at = logits[:, owned].max(1)
    size = torch.tensor([width, height, width, height])
    corners = torch.cat((boxes[:, :2] - boxes[:, 2:] / 2, boxes[:, :2] + boxes[:, 2:] / 2), 1) * size
    corners = torch.minimum(corners.clamp(min=0), size)
    found = []
    for q in sorted(range(len(best)), key=lambda q: (-best[q].item(), q)):
        b = corners[q]
        for other in found:
            o = other[3]
            both = (torch.minimum(b[2:], o[2:]) - torch.maximum(b[:2], o[:2])).clamp(min=0).prod()
            if both / ((b[2:] - b[:2]).prod() + (o[2:] - o[:2]).prod() - both) > 0.8:
                break
        else:
            found.append((best[q].sigmoid(), phrases[owned[at[q]]], q, b))
    score, label, query, box = zip(*found)
    return torch.stack(score), torch.tensor(label), torch.tensor(query), torch.stack(box)


def find_phrases(ids, ends, text):
    """Of each token, the number of the phrase that ends in the next full stop."""
    phrases, count = [], 0
    for i, t in enumerate(ids):
        phrases.append(-1 if t in ends else count)
        count += t == ends[2]
    return phrases


def gap(stages, queries):
    """How far apart the likenesses are whose order chooses the queries; positions at the border have equal ones, and
    give equal queries in any order."""
    best = stages['candidates'].max(1).values.sort(descending=True).values[:queries + 1]
    apart = best[:-1] - best[1:]
    return apart[apart > 1e-6].min().item() if (apart > 1e-6).any() else 0


def count_border(stages):
    """Queries that were chosen at positions too close to the border."""
    return int((stages['references0'] == 1).all(1).sum())


def raise_border(model, stages, rank):
    """Moves the bias that is all that is left of positions close to the border towards a word, until as many other
    positions are more like a word than they."""
    inner = model.model
    image, text = stages['image1'], stages['text1']
    bias = inner.enc_output.bias.data
    towards, before = F.normalize(text[1] - text[1].mean(), dim=0), bias.clone()
    low, high = 0.0, 30.0
    for _ in range(30):
        middle = (low + high) / 2
        bias.copy_(before + middle * towards)
        with torch.no_grad():
            likeness = (inner.enc_output_norm(inner.enc_output(image)) @ text.T).max(1).values
            border = (inner.enc_output_norm(bias) @ text.T).max()
        low, high = (middle, high) if (likeness > border).sum() > rank else (low, middle)


def begin_mini(folder, picture):
    """The vocabulary, which is written; what ends a piece, in it; its tokenizer; two frames of 120 x 160 px."""
    folder.mkdir(parents=True, exist_ok=True)
    tokens = make_vocabulary()
    (folder / 'vocab.txt').write_text('\n'.join(tokens) + '\n')
    ends = [tokens.index(t) for t in ENDS]
    grounding_dino.SPECIAL_TOKENS = mm_grounding_dino.SPECIAL_TOKENS = ends
    frame = picture(160, torch.Generator().manual_seed(3))
    return tokens, ends, BertTokenizerFast(str(folder / 'vocab.txt')), torch.stack((frame, frame.flip(1)))[:, :120].contiguous()


def look_at(model, tokenizer, ends, frames, sides):
    """What it finds in the frames, each by its text, at these sizes, by the names of the golden; and how far apart are the
    likenesses and scores that are put in order."""
    want, least = {}, math.inf
    for side in sides:
        for t, (f, text) in enumerate(zip(frames, TEXTS)):
            ids = tokenizer(text)['input_ids']
            out = run(model, prepare_shape(f, *input_shape(side, 160, 120)), ids)
            phrases = find_phrases(ids, ends, text)
            found = dict(zip(('score', 'label', 'query', 'box'), choose(out, ids, ends, phrases, 160, 120)))
            least = min(least, gap(out, 20), (found['score'][:-1] - found['score'][1:]).min().item())
            for name, value in {**out, **found}.items():
                want[f'side{side}/frame{t:03}/{name}'] = value.float().contiguous().clone()
    return want, least


def end_mini(folder, model, want, frames):
    model.half().save_pretrained(folder)
    save_file({'frames': frames}, folder / 'frames.safetensors')
    save_file(want, folder / 'want.safetensors')


def write_mini(folder, picture, is_mm):
    """A model of the smallest widths, in fp16, its vocabulary, and what it finds in two frames by two texts at two
    sizes; and in one at a size that has positions close to the border, with likenesses of the best token alone. Of many
    seeds one is taken whose order of candidates no rounding can change, and which chooses some at the border."""
    tokens, ends, tokenizer, frames = begin_mini(folder, picture)
    best = 0
    for seed in range(12):
        model = build(is_mm, len(tokens), seed)
        ids = tokenizer(TEXTS[0])['input_ids']
        image = prepare_shape(frames[0], *input_shape(416, 160, 120))
        raise_border(model.half().float(), run(model, image, ids), 9)
        large = run(model.half().float(), image, ids)
        print(f'seed {seed}: {count_border(large)} at the border, {gap(large, 20):.2g}', flush=True)
        if not 2 <= count_border(large) <= 18 or gap(large, 20) <= best:
            continue
        want, least = look_at(model, tokenizer, ends, frames, (64, 96))
        least = min(least, gap(large, 20))
        for name in ('references0', 'references2', 'layer2', 'logits', 'boxes'):
            want[f'side416/frame000/{name}'] = large[name].contiguous().clone()
        want['side416/frame000/best'] = large['candidates'].max(1).values.contiguous().clone()
        print(f'likenesses and scores are {least:.2g} apart', flush=True)
        if least > best:
            best, kept = least, (model, want)
        if best > 5e-5:
            break
    end_mini(folder, *kept, frames)


def stretch(model):
    """Scores of each layer have a bias of their own, as only their last one is used; and boxes become so small that the limit
    of their logits is met, and large again in the last layer."""
    last = len(model.class_embed) - 1
    for i, (score, box) in enumerate(zip(model.class_embed, model.bbox_embed)):
        score.bias.data.fill_(-1.7 + 0.5 * i)
        box.layers[-1].bias.data[2:] += {0: -14, last: 11}.get(i, 0)
    model.model.encoder_output_class_embed.bias.data.fill_(-0.9)


def write_five(folder, picture):
    """As write_mini(), of MM-Grounding DINO with five levels, at one size."""
    tokens, ends, tokenizer, frames = begin_mini(folder, picture)
    best = 0
    for seed in range(40):
        model = build(True, len(tokens), seed, levels=5)
        stretch(model)
        model = model.half().float()
        want, least = look_at(model, tokenizer, ends, frames, (64,))
        print(f'seed {seed}: likenesses and scores are {least:.2g} apart', flush=True)
        if least > best:
            best, kept = least, (model, want)
        if best > 5e-5:
            break
    end_mini(folder, *kept, frames)


@contextlib.contextmanager
def handed_order(order):
    """The candidates that transformers chooses are these, in that order."""
    own = torch.topk

    def topk(x, k, dim=-1, **given):
        if k != len(order) or x.dim() != 2:
            return own(x, k, dim=dim, **given)
        return torch.return_types.topk((x.gather(1, order[None]), order[None]))

    torch.topk = topk
    try:
        yield
    finally:
        torch.topk = own


def compare(sam_detect, height, width, seed, picture, precision, like):
    """The engine's stages of a look, and PyTorch's own in that precision (bf16: autocast), beside PyTorch's in f64, at the
    published sizes of LLMDet tiny; whether all are within 1e-4 in fp32, 2e-2 in bf16, in norm, or no further off than twice
    PyTorch's own. Queries belong to ranks of candidates, so both are handed the engine's order; printed is how much of it is
    f64's."""
    frame = picture(max(height, width), torch.Generator().manual_seed(seed))[:height, :width].contiguous()
    image = prepare_shape(frame, height, width)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        model = build_true(seed)
        model.save_pretrained(folder)
        write_words(folder)
        save_file({'frames': frame[None].contiguous()}, folder / 'frames.safetensors')
        layers = [f'{kind}{i}' for i in range(6) for kind in ('image', 'text', 'references', 'layer')]
        stages = ['bert11', 'text', 'stage2', 'stage3', 'stage4', *sorted(layers), 'candidates', 'logits', 'boxes']
        command = [sam_detect, '--model', folder / 'model.safetensors', '--frames', folder / 'frames.safetensors', '--out', folder / 'out.safetensors',
                   '--precision', precision, '--input-size', min(height, width), '--words', TWO_WORDS, *(x for k in stages for x in ('--stage', k))]
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(done.stderr)
        got = {k: t.clone() for k, t in load_file(folder / 'out.safetensors').items()}
    candidates = got['frame000/candidates'].reshape(-1, len(TWO_WORDS_IDS)).max(1).values
    order = candidates.sort(descending=True, stable=True).indices[:model.config.num_queries]
    with handed_order(order):
        with torch.autocast('cpu', torch.bfloat16, enabled=precision == 'bf16'):
            own = run(model, image, TWO_WORDS_IDS)
        want = run(model.double(), image.double(), TWO_WORDS_IDS)
    exact = want['candidates'].max(1).values.sort(descending=True, stable=True).indices[:len(order)]
    print(f'LLMDet tiny of the published sizes at {height} x {width} px, seed {seed}, {precision}: {int((exact == order).sum())} of {len(order)} '
          f'candidates at their rank\nits last line: {json.loads(done.stdout.splitlines()[-1])}\nstage            here  PyTorch')
    limit, good = 1e-4 if precision == 'fp32' else 2e-2, True
    for k in stages:
        here, there = (((t.reshape(want[k].shape).double() - want[k]).norm() / want[k].norm()).item() for t in (like(got[f'frame000/{k}'], want[k]), own[k]))
        print(f'{k:12} {here:8.1e} {there:8.1e}')
        good = good and here <= max(limit, 2 * there)
    return good
