#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Trains the detector by words of the tests: MM-Grounding DINO in miniature, as transformers publishes it, on the scene
that samscene draws. It knows the scene's things and nothing else: things after four minutes, colours after ten.

usage: train_words.py --plugins BUILD/gst/scene --out FOLDER [--from FOLDER] [--minutes N] [--threads N] [--seed N]

Writes model.safetensors (fp16), config.json and vocab.txt. The frames are samscene's, the truth is its property "flat".
Every position of the encoder, and every query, is told which phrases name what it lies on; none is matched one to one,
so a few minutes of processor time are enough: boxes that cover each other are left out when the detector runs.
"""
import argparse
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

try:
    import torch
    import torch.nn.functional as F
    import transformers.models.mm_grounding_dino.modeling_mm_grounding_dino as published
    from torchvision.ops import generalized_box_iou_loss
    from transformers import BertConfig, BertTokenizerFast, MMGroundingDinoConfig, MMGroundingDinoForObjectDetection, SwinConfig

    from groundingdino_torch import ENDS, input_shape
    from mask2former_torch import prepare_shape
except ImportError as e:
    sys.exit(f'train_words.py: {e.name} is not installed in {sys.executable}; it needs torch, torchvision and transformers')

WIDTH, HEIGHT, SIDE = 320, 180, 128
FLAT = [(240, 0, 0), (0, 240, 0), (0, 0, 240), (240, 240, 0)]  # ball, walker, fish, plane
FISH = ['orange', 'brown', 'blue', 'green']  # by the scene's look
PLANE = ['green', 'pink', 'yellow', 'purple']
OTHERS = ['dog', 'car', 'red car', 'cat', 'tree', 'red fish', 'red plane', 'blue plane', 'pink fish']
WORDS = ['ball', 'striped', 'fish', 'plane', 'paper', 'walker', 'person', 'dog', 'car', 'cat', 'tree', 'red', 'blue', 'green',
         'orange', 'brown', 'pink', 'yellow', 'purple']
LETTERS = 'abcdefghijklmnopqrstuvwxyz'
VOCABULARY = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]', '.', '?', *LETTERS, *('##' + c for c in LETTERS), *WORDS]
FRAMES = 24  # of a scene, 0.8 s apart


def scene_hash(seed, x, y):
    """As in gst/scene/scenetexture.c."""
    most = (1 << 64) - 1
    h = (seed * 0x9e3779b97f4a7c15 + x * 0xbf58476d1ce4e5b9 + y * 0x94d049bb133111eb + 0x632be59bd9b4e019) & most
    h = ((h ^ h >> 30) * 0xbf58476d1ce4e5b9) & most
    h = ((h ^ h >> 27) * 0x94d049bb133111eb) & most
    return (h ^ h >> 31) >> 16


def look(seed, thing):
    return scene_hash(seed, thing, 2) % 4 if seed else 0


def name_things(seed):
    """What each thing of a scene may be called."""
    fish, plane = FISH[look(seed, 2)], PLANE[look(seed, 3)]
    return [['ball', 'striped ball'], ['walker', 'person'], ['fish', f'{fish} fish'],
            ['plane', 'paper plane', f'{plane} plane', f'{plane} paper plane']]


def draw(plugins, seed, flat):
    with tempfile.TemporaryDirectory() as folder:
        raw = pathlib.Path(folder) / 'frames'
        subprocess.run(['gst-launch-1.0', '-q', 'samscene', f'seed={seed}', f'num-buffers={FRAMES}', f'flat={flat}', '!',
                        f'video/x-raw,format=RGBx,width={WIDTH},height={HEIGHT},framerate=5/4', '!', 'filesink', f'location={raw}'],
                       check=True, env={**os.environ, 'GST_PLUGIN_PATH': plugins})
        data = torch.frombuffer(bytearray(raw.read_bytes()), dtype=torch.uint8)
    return data.view(FRAMES, HEIGHT, WIDTH, 4)[..., :3]


def find_box(flat, thing):
    """x0, y0, x1, y1 as fractions; all 0: too little of it is seen."""
    near = (flat.int() - torch.tensor(FLAT[thing])).abs().sum(-1) < 60
    rows, columns = near.any(1).nonzero()[:, 0], near.any(0).nonzero()[:, 0]
    if near.sum() < 40:
        return torch.zeros(4)
    return torch.tensor([columns[0] / WIDTH, rows[0] / HEIGHT, (columns[-1] + 1) / WIDTH, (rows[-1] + 1) / HEIGHT])


def load(plugins, seeds):
    """Images, boxes of the four things (fractions), and the names of these by the scene's number."""
    images, boxes, scene = [], [], []
    shape = input_shape(SIDE, WIDTH, HEIGHT)
    for seed in seeds:
        for frame, flat in zip(draw(plugins, seed, 'false'), draw(plugins, seed, 'true')):
            images.append(prepare_shape(frame, *shape)[0])
            boxes.append(torch.stack([find_box(flat, thing) for thing in range(4)]))
            scene.append(seed)
    return torch.stack(images), torch.stack(boxes), scene


def build(seed):
    torch.manual_seed(seed)
    swin = SwinConfig(image_size=SIDE, embed_dim=16, depths=[1, 1, 2, 1], num_heads=[1, 2, 4, 8], window_size=5, mlp_ratio=2,
                      out_indices=[2, 3, 4], drop_path_rate=0.0)
    text = BertConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
                      vocab_size=len(VOCABULARY), max_position_embeddings=128, hidden_dropout_prob=0.0,
                      attention_probs_dropout_prob=0.0)
    config = MMGroundingDinoConfig(
        backbone_config=swin, text_config=text.to_dict(), d_model=64, encoder_layers=2, decoder_layers=2, encoder_ffn_dim=128,
        decoder_ffn_dim=128, num_queries=24, encoder_n_points=4, decoder_n_points=4, dropout=0.0, fusion_droppath=0.0,
        fusion_dropout=0.0, text_enhancer_dropout=0.0, decoder_bbox_embed_share=False, decoder_cls_embed_share=False)
    model = MMGroundingDinoForObjectDetection(config)
    for name, p in model.named_parameters():
        if name.endswith('_param'):  # they begin at 1e-4: long trainings alone raise them
            p.data.fill_(0.5)
    return model


def run(model, images, ids):
    """Likenesses to each token and boxes (cx, cy, w, h) of the encoder's positions, and of the queries of each layer with the
    references that they begin with."""
    tokens = torch.tensor([ids]).expand(len(images), -1)
    mask = torch.ones_like(tokens)
    inner = model.model(pixel_values=images, input_ids=tokens, attention_mask=mask, return_dict=True)
    outputs = [(inner.enc_outputs_class[..., :len(ids)], inner.enc_outputs_coord_logits.sigmoid(), None)]
    for level in range(inner.intermediate_hidden_states.shape[1]):
        before = inner.init_reference_points if level == 0 else inner.intermediate_reference_points[:, level - 1]
        hidden = inner.intermediate_hidden_states[:, level]
        like = model.class_embed[level](vision_hidden_state=hidden, text_hidden_state=inner.encoder_last_hidden_state_text,
                                        text_token_mask=mask.bool())[..., :len(ids)]
        box = (model.bbox_embed[level](hidden) + torch.special.logit(before, eps=1e-5)).sigmoid()
        outputs.append((like, box, before.detach()))
    return outputs


def corners(box):
    return torch.cat((box[..., :2] - box[..., 2:] / 2, box[..., :2] + box[..., 2:] / 2), -1)


def anchors(shape):
    """Where the encoder's positions are, and how large what they look for."""
    places = []
    for level, stride in enumerate((8, 16, 32, 64)):
        h, w = (-(-n // stride) for n in shape)
        y, x = torch.meshgrid(torch.arange(h), torch.arange(w), indexing='ij')
        size = torch.full((h * w,), 0.05 * 2 ** level)
        places.append(torch.stack((((x + 0.5) / w).flatten(), ((y + 0.5) / h).flatten(), size, size), 1))
    return torch.cat(places)


def assign(places, boxes):
    """Of each place, the thing in the middle of which it lies, or -1; -2: near one, which counts for nothing.
    places: (images, places, 4); boxes: (images, 4, 4)."""
    middle, size = (boxes[..., :2] + boxes[..., 2:]) / 2, boxes[..., 2:] - boxes[..., :2]
    away = ((places[:, :, None, :2] - middle[:, None]) / size[:, None].clamp(min=1e-6)).abs().amax(-1)  # 0.5: at the edge
    away[~(size[:, None] > 0).all(-1).expand_as(away)] = 9
    ratio = (places[:, :, None, 2:] / size[:, None].clamp(min=1e-6)).log2().abs().amax(-1)
    nearest, thing = away.min(-1)
    fits = ratio.gather(-1, thing[..., None])[..., 0] < 2
    thing[(nearest > 0.3) | ~fits] = -2
    thing[nearest > 0.6] = -1
    return thing


def loss_of(like, box, thing, boxes, named, owned):
    """named: (images, 4, tokens), 1 where the token is of a phrase that names the thing."""
    counts = thing >= 0
    chosen = thing.clamp(min=0)
    want = named.gather(1, chosen[..., None].expand(-1, -1, named.shape[-1])) * counts[..., None]
    like = like[..., owned]
    chance = like.sigmoid()
    right = chance * want + (1 - chance) * (1 - want)
    focal = (F.binary_cross_entropy_with_logits(like, want, reduction='none') * (1 - right) ** 2 *
             (0.25 * want + 0.75 * (1 - want)))
    asked = counts & (want.sum(-1) > 0)
    some = max(1, int(asked.sum()))
    total = 4 * (focal * (thing > -2)[..., None]).sum() / some / max(1, len(owned)) * 4
    if asked.any():
        to = boxes.gather(1, chosen[..., None].expand(-1, -1, 4))[asked]
        at = corners(box[asked])
        total = total + 5 * F.l1_loss(at, to, reduction='sum') / some + 2 * generalized_box_iou_loss(at, to, reduction='mean')
    return total


def ask(rng, scenes):
    """Phrases for a batch: of what is there, of what is not, and of letters without a meaning."""
    if rng.random() < 0.5:  # one thing in all of its colours: nothing else tells them apart
        phrases = rng.choice(([f'{c} fish' for c in FISH], [f'{c} plane' for c in PLANE], [f'{c} paper plane' for c in PLANE]))
        return rng.sample(phrases, rng.randint(1, 4))
    names = [n for seed in scenes for thing in name_things(seed) for n in thing]
    phrases = rng.sample(sorted(set(names)), rng.randint(1, 4)) + rng.sample(OTHERS, rng.randint(0, 2))
    if rng.random() < 0.3:
        phrases.append(''.join(rng.choice(LETTERS) for _ in range(rng.randint(3, 6))))
    rng.shuffle(phrases)
    return phrases


def train(model, tokenizer, data, args):
    images, boxes, scene = data
    ends = [VOCABULARY.index(t) for t in ENDS]
    places = anchors(images.shape[-2:])[None]
    rng = random.Random(args.seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.rate, weight_decay=1e-3)
    began, step, kept = time.process_time(), 0, 0.0
    while True:
        part = (time.process_time() - began) / (60 * args.minutes)
        if part >= 1:
            return
        for group in optimizer.param_groups:
            group['lr'] = args.rate * min(1, (step + 1) / 100) * max(0.02, 1 - part)
        chosen = rng.sample(range(len(images)), args.batch)
        phrases = ask(rng, [scene[i] for i in chosen])
        ids = tokenizer('. '.join(phrases) + '.')['input_ids']
        owner, count = [], 0  # of each token, its phrase
        for t in ids:
            owner.append(-1 if t in ends else count)
            count += t == ends[2]
        owned = [i for i, p in enumerate(owner) if p >= 0]
        truth = torch.tensor([[[float(phrases[owner[i]] in thing) for i in owned] for thing in name_things(scene[n])] for n in chosen])
        picture, where = images[chosen], boxes[chosen]
        if rng.random() < 0.5:
            picture, where = picture.flip(-1), torch.stack((1 - where[..., 2], where[..., 1], 1 - where[..., 0], where[..., 3]), -1) * (
                where.sum(-1, keepdim=True) > 0)
        loss = 0
        for like, box, before in run(model, picture, ids):
            at = places.expand(len(chosen), -1, -1) if before is None else before
            loss = loss + loss_of(like, box, assign(at, where), where, truth, owned)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        kept = loss.item() if step == 0 else 0.98 * kept + 0.02 * loss.item()
        step += 1
        if step % 50 == 0:
            print(f'step {step}, {time.process_time() - began:.0f} s of processor time: loss {kept:.3f}', flush=True)


def test(model, tokenizer, data, tell):
    """On scenes that were not trained on: for each phrase, the best score where its thing is seen, with the overlap of that
    box, and where there is none."""
    images, boxes, scene = data
    ends = [VOCABULARY.index(t) for t in ENDS]
    model.eval()
    seen, unseen = {}, {}
    for n in range(0, len(images), 3):
        for phrase in ['striped ball', 'person', 'fish', 'paper plane', 'dog', *(f'{c} fish' for c in FISH), *(f'{c} plane' for c in PLANE)]:
            ids = tokenizer(phrase + '.')['input_ids']
            with torch.no_grad():
                like, box, _ = run(model, images[n:n + 1], ids)[-1]
            best, at = like[0, :, [i for i, t in enumerate(ids) if t not in ends]].sigmoid().amax(-1).max(0)
            thing = next((k for k, names in enumerate(name_things(scene[n])) if phrase in names), -1)
            if thing < 0 or boxes[n, thing].sum() == 0:
                unseen.setdefault(phrase, []).append(best.item())
                continue
            a, b = corners(box[0, at]), boxes[n, thing]
            both = (torch.minimum(a[2:], b[2:]) - torch.maximum(a[:2], b[:2])).clamp(min=0).prod()
            iou = both / ((a[2:] - a[:2]).prod() + (b[2:] - b[:2]).prod() - both)
            seen.setdefault(phrase, []).append((best.item(), iou.item()))
    for phrase in sorted(seen.keys() | unseen.keys()):
        there, none = seen.get(phrase, []), unseen.get(phrase, [])
        tell(f'{phrase}: ' + (f'there: score {sum(s for s, _ in there) / len(there):.2f} (least {min(there)[0]:.2f}), IoU '
                              f'{sum(i for _, i in there) / len(there):.2f}, over 0.5 in {sum(i > 0.5 for _, i in there)} of {len(there)}'
                              if there else '') + (f'; not there: {sum(none) / len(none):.2f} (most {max(none):.2f})' if none else ''))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--plugins', required=True)
    parser.add_argument('--out', required=True, type=pathlib.Path)
    parser.add_argument('--from', dest='start', type=pathlib.Path, help='folder of a model that was trained before')
    parser.add_argument('--minutes', type=float, default=10, help='of processor time')
    parser.add_argument('--threads', type=int, default=2)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--batch', type=int, default=8)
    parser.add_argument('--rate', type=float, default=1e-3)
    parser.add_argument('--scenes', type=int, default=60)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / 'vocab.txt').write_text('\n'.join(VOCABULARY) + '\n')
    published.SPECIAL_TOKENS = [VOCABULARY.index(t) for t in ENDS]
    tokenizer = BertTokenizerFast(str(args.out / 'vocab.txt'))
    data = load(args.plugins, range(100, 100 + args.scenes))
    model = build(args.seed)
    if args.start:
        model.load_state_dict(MMGroundingDinoForObjectDetection.from_pretrained(args.start, dtype=torch.float32).state_dict())
    print(f'{len(data[0])} images, {sum(p.numel() for p in model.parameters())} weights', flush=True)
    train(model, tokenizer, data, args)
    model = model.half()
    model.save_pretrained(args.out)
    test(model.float(), tokenizer, load(args.plugins, range(0, 8)), print)


if __name__ == '__main__':
    main()
