# SPDX-License-Identifier: MIT
"""SAM 3's detector by words with the modules of Hugging Face transformers (Apache-2.0), with random lively weights: what
compare_detectors.py --mini writes the golden of, and compares the engine with at the published sizes.

The modules are transformers', put together as the publisher's code behaves, from which transformers' own forward deviates:
the geometry encoder's token that has looked at the image stands behind the words of every prompt, without any box, too; and
epsilons are 1e-5. No code of the publisher is included or needed."""
import json
import math
import pathlib
import subprocess
import tempfile

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file

PATCH = 14
PHRASES = [['striped ball', 'a big red dog'], ['blue fish', "person's car no 7"]]
WORDS = ['a', 'red', 'car', 'striped', 'ball', 'blue', 'fish', 'small', 'big', 'dog', 'person', 'no', "'s"]
START, END = '<|startoftext|>', '<|endoftext|>'


def byte_letters():
    """The printable characters that stand for bytes."""
    own = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [b for b in range(256) if b not in own]
    return {**{b: chr(b) for b in own}, **{b: chr(256 + i) for i, b in enumerate(rest)}}


def make_pairs():
    """A vocabulary of bytes, bytes at the end of a word, and the pairs that make WORDS from left to right."""
    letters = [chr(c) for c in sorted(map(ord, byte_letters().values()))]
    merges = []
    for word in WORDS:
        parts = [*word[:-1], word[-1] + '</w>']
        while len(parts) > 1:
            if (parts[0], parts[1]) not in merges:
                merges.append((parts[0], parts[1]))
            parts = [parts[0] + parts[1], *parts[2:]]
    tokens = [*letters, *(c + '</w>' for c in letters), *(a + b for a, b in merges), START, END]
    return {t: i for i, t in enumerate(tokens)}, merges


def make_tokenizer():
    from transformers import CLIPTokenizer
    vocab, merges = make_pairs()
    return CLIPTokenizer(vocab=vocab, merges=merges)


def fill(name, p, rng):
    """Weights with which every part of the network matters."""
    n = torch.randn(p.shape, generator=rng)
    if name.endswith('reference_points.weight'):
        return n
    if '_embed.weight' in name or '_token.weight' in name or '_embedding.weight' in name or 'position_embeddings' in name:
        return 0.6 * n
    if 'box_head.layer3' in name:
        return 0.3 * n
    if p.dim() >= 2:
        fan_in = p.shape[0] if 'scale_layers' in name else p[0].numel()
        return n * (1.2 / math.sqrt(fan_in))
    return 1 + 0.2 * n if 'norm' in name and name.endswith('weight') else 0.2 * n


def build(side, words, seed):
    from transformers import Sam3Config, Sam3Model
    grid = side // PATCH
    part = dict(hidden_size=32, intermediate_size=48, num_attention_heads=8, layer_norm_eps=1e-5)
    backbone = dict(model_type='sam3_vit_model', hidden_size=32, intermediate_size=52, num_hidden_layers=3, num_attention_heads=2,
                    image_size=side, patch_size=PATCH, window_size=4, global_attn_indexes=[1], pretrain_image_size=PATCH * 3,
                    layer_norm_eps=1e-5)
    config = Sam3Config(
        vision_config=dict(fpn_hidden_size=32, backbone_config=backbone, layer_norm_eps=1e-5,
                           backbone_feature_sizes=[[4 * grid] * 2, [2 * grid] * 2, [grid] * 2]),
        text_config=dict(model_type='clip_text_model', vocab_size=words, hidden_size=24, intermediate_size=40, num_hidden_layers=2,
                         num_attention_heads=3, max_position_embeddings=32, hidden_act='gelu', projection_dim=16),
        geometry_encoder_config=dict(**part, num_layers=2), detr_encoder_config=dict(**part, num_layers=2),
        detr_decoder_config=dict(**part, num_layers=3, num_queries=20),
        mask_decoder_config=dict(hidden_size=32, num_attention_heads=8, layer_norm_eps=1e-5))
    return make_lively(Sam3Model(config), seed)


def build_true(side, words, seed):
    """Of the published sizes, but for the words."""
    from transformers import Sam3Config, Sam3Model
    grid = side // PATCH
    sizes = [[4 * grid] * 2, [2 * grid] * 2, [grid] * 2]
    config = Sam3Config(vision_config=dict(backbone_config=dict(model_type='sam3_vit_model', image_size=side, layer_norm_eps=1e-5),
                                           backbone_feature_sizes=sizes, layer_norm_eps=1e-5),
                        text_config=dict(model_type='clip_text_model', vocab_size=words, hidden_size=1024, intermediate_size=4096,
                                         num_hidden_layers=24, num_attention_heads=16, max_position_embeddings=32, hidden_act='gelu',
                                         projection_dim=512))
    return make_lively(Sam3Model(config), seed)


def make_lively(model, seed):
    model.eval()
    for module in model.modules():  # some take a default of their own
        if isinstance(module, torch.nn.LayerNorm):
            module.eps = 1e-5
    rng = torch.Generator().manual_seed(seed)
    for name, p in model.named_parameters():
        p.data.copy_(fill(name, p, rng))
    return model


def round_weights(model):
    """To fp16, as they are stored. Not by half(), which would round the frequencies of the rotary positions, too."""
    for p in model.parameters():
        p.data = p.data.half().float()
    return model


def prepare(frame, side):
    x = F.interpolate(frame.permute(2, 0, 1)[None].double(), (side, side), mode='bilinear', antialias=True)
    return ((x - 127.5) / 127.5).float()


def look(model, maps, position, text):
    """What one phrase gives, stages as the engine names them, each as rows of channels."""
    out = {}
    none = dict(box_embeddings=torch.zeros(1, 0, 4).to(text), box_mask=torch.zeros(1, 0, dtype=torch.bool), box_labels=torch.zeros(1, 0, dtype=torch.long))
    token = model.geometry_encoder(**none, img_feats=[maps[2]], img_pos_embeds=[position]).last_hidden_state
    prompt = torch.cat((text, token), 1)
    seen = torch.ones(1, prompt.shape[1], dtype=torch.bool)
    hooks = [layer.register_forward_hook(lambda m, args, x, i=i, kind=kind: out.update({f'{kind}{i}': x[0] if isinstance(x, tuple) else x}))
             for kind, layers in (('fused', model.detr_encoder.layers), ('layer', model.detr_decoder.layers)) for i, layer in enumerate(layers)]
    hooks.append(model.mask_decoder.pixel_decoder.register_forward_hook(lambda m, args, x: out.update(pixels=x.flatten(2).transpose(1, 2))))
    e = model.detr_encoder(vision_features=[maps[2]], text_features=prompt, vision_pos_embeds=[position], text_mask=seen)
    d = model.detr_decoder(vision_features=e.last_hidden_state, text_features=e.text_features, vision_pos_encoding=e.pos_embeds_flattened,
                           text_mask=seen, spatial_shapes=e.spatial_shapes)
    logits = model.dot_product_scoring(decoder_hidden_states=d.intermediate_hidden_states, text_features=e.text_features, text_mask=seen)
    masks = model.mask_decoder(decoder_queries=d.intermediate_hidden_states[-1], backbone_features=list(maps),
                               encoder_hidden_states=e.last_hidden_state, prompt_features=prompt, prompt_mask=seen)
    for hook in hooks:
        hook.remove()
    last = d.reference_boxes[-1].clamp(0, 1)
    last = torch.log(last.clamp(min=1e-3) / (1 - last).clamp(min=1e-3)) + model.detr_decoder.box_head(d.intermediate_hidden_states[-1])
    out.update({f'references{i}': r for i, r in enumerate(d.reference_boxes)})
    out.update(prompt=prompt, boxes=last.sigmoid(), logits=logits[-1], presence=d.presence_logits[-1], masks=masks.pred_masks.flatten(2))
    return {k: v.detach().reshape(-1) if v.shape[-1] == 1 or k == 'logits' else v.detach().reshape(-1, v.shape[-1]) for k, v in out.items()}


def run(model, tokenizer, image, phrases):
    """The stages of the image, and a list of those of each phrase."""
    with torch.no_grad():
        seen = model.vision_encoder(image)
        maps, position = seen.fpn_hidden_states[:3], seen.fpn_position_encoding[2]
        whole = {f'fpn{k}': m.flatten(2).transpose(1, 2)[0] for k, m in enumerate(maps)}
        each = []
        for phrase in phrases:
            ids = torch.tensor([tokenizer(phrase)['input_ids']])
            text = model.get_text_features(input_ids=ids, attention_mask=torch.ones_like(ids), return_dict=True).pooler_output
            each.append({'text': text[0], 'ids': ids[0].int(), **look(model, maps, position, text)})
    return whole, each


def choose(each, width, height):
    """Scores, labels, queries and boxes in px, by score; a box that overlaps one with a higher score by more than 0.8 is left
    out. Queries count over all phrases."""
    score = torch.cat([x['logits'].sigmoid() * x['presence'].sigmoid() for x in each])
    boxes = torch.cat([x['boxes'] for x in each])
    size = torch.tensor([width, height, width, height])
    corners = torch.cat((boxes[:, :2] - boxes[:, 2:] / 2, boxes[:, :2] + boxes[:, 2:] / 2), 1) * size
    corners = torch.minimum(corners.clamp(min=0), size)
    queries, found = len(each[0]['logits']), []
    for q in sorted(range(len(score)), key=lambda q: (-score[q].item(), q)):
        b = corners[q]
        for o in (other[3] for other in found):
            both = (torch.minimum(b[2:], o[2:]) - torch.maximum(b[:2], o[:2])).clamp(min=0).prod()
            if both / ((b[2:] - b[:2]).prod() + (o[2:] - o[:2]).prod() - both) > 0.8:
                break
        else:
            found.append((score[q], q // queries, q, b))
    score, label, query, box = zip(*found)
    return {'score': torch.stack(score), 'label': torch.tensor(label), 'query': torch.tensor(query), 'box': torch.stack(box)}


def save_tokenizer(tokenizer, folder):
    tokenizer.backend_tokenizer.save(str(folder / 'tokenizer.json'), pretty=False)


def whole_names(state):
    """As the published file has them, which holds a tracker, too."""
    return {'detector_model.' + k: v.half().contiguous() for k, v in state.items() if v.is_floating_point()}


def write_mini(folder, picture):
    """A model of the smallest widths, in fp16, its tokenizer, and what it finds in two frames by two phrases each, at two sizes.
    The first seed is taken whose scores no rounding can put in another order, and of which enough boxes are left."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = make_tokenizer()
    save_tokenizer(tokenizer, folder)
    frame = picture(160, torch.Generator().manual_seed(3))
    frames = torch.stack((frame, frame.flip(1)))[:, :120].contiguous()  # 120 x 160
    for seed in range(14, 38):
        model, want, least, few = round_weights(build(112, len(tokenizer), seed)), {}, 1, 100
        other = round_weights(build(56, len(tokenizer), seed))  # the same, at another size
        for side, m in ((112, model), (56, other)):
            for t, (f, phrases) in enumerate(zip(frames, PHRASES)):
                whole, each = run(m, tokenizer, prepare(f, side), phrases)
                found = choose(each, 160, 120)
                score = found['score']
                least, few = min(least, (score[:-1] - score[1:]).min().item()), min(few, len(score))
                at = f'side{side}/frame{t:03}'
                want.update({f'{at}/{k}': v for k, v in {**whole, **found}.items() if side == 56 or k != 'fpn0'})
                for k, x in enumerate(each):
                    want.update({f'{at}/phrase{k}/{name}': v for name, v in x.items() if side == 56 or name not in ('pixels', 'masks')})
        print(f'seed {seed}: scores are {least:.2g} apart, {few} found, the best {score[0]:.2g}', flush=True)
        if least > 5e-5 and few > 15:
            break
    save_file(whole_names(model.state_dict()), folder / 'model.safetensors', metadata={'format': 'pt'})
    (folder / 'config.json').write_text(json.dumps({'model_type': 'sam3_video', 'detector_config': model.config.to_dict()}, indent=1) + '\n')
    save_file({'frames': frames}, folder / 'frames.safetensors')
    save_file({k: v.float().contiguous().clone() for k, v in want.items()}, folder / 'want.safetensors')


def run_stages(model, tokenizer, image, phrase):
    """All stages of one phrase by name, in the model's type."""
    whole, each = run(model, tokenizer, image, [phrase])
    return {**whole, **{k: v for k, v in each[0].items() if k != 'ids'}}


def run_engine(sam_detect, folder, side, precision, phrase, stages):
    """What the engine's stages are, and what its tool says last."""
    command = [sam_detect, '--model', folder / 'model.safetensors', '--frames', folder / 'frames.safetensors', '--out', folder / 'out.safetensors',
               '--precision', precision, '--input-size', side, '--words', phrase, *(x for k in stages for x in ('--stage', k))]
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return load_file(folder / 'out.safetensors'), done.stdout.splitlines()[-1]


def compare(sam_detect, side, seed, picture, precision):
    """The engine's stages, and PyTorch's own in that precision (bf16: autocast), beside those of a model of the published
    sizes in f64, with one phrase; whether each of the engine's is within 1e-4 in fp32, 2e-2 in bf16, in norm, or, where a
    deep network with random weights enlarges what rounding begins, no further off than twice PyTorch's own."""
    tokenizer, phrase = make_tokenizer(), PHRASES[0][1]
    frame = picture(side, torch.Generator().manual_seed(seed))
    image = prepare(frame, side)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        save_tokenizer(tokenizer, folder)
        model = round_weights(build_true(side, len(tokenizer), seed))
        save_file(whole_names(model.state_dict()), folder / 'model.safetensors', metadata={'format': 'pt'})
        (folder / 'config.json').write_text(json.dumps({'model_type': 'sam3_video', 'detector_config': model.config.to_dict()}))
        save_file({'frames': frame[None].contiguous()}, folder / 'frames.safetensors')
        with torch.autocast('cpu', torch.bfloat16, enabled=precision == 'bf16'):
            own = run_stages(model, tokenizer, image, phrase)
        want = run_stages(model.double(), tokenizer, image.double(), phrase)
        del model  # the engine needs the room
        got, last = run_engine(sam_detect, folder, side, precision, phrase, want)
        off = {k: [((t.reshape(v.shape).double() - v).norm() / v.norm()).item() for t in (got[f'frame000/{k}'], own[k])] for k, v in want.items()}
    print(f'SAM 3 of the published sizes at {side} px, seed {seed}, {precision}; its last line: {last}\n'
          'stage            here  PyTorch')
    for k, (here, there) in off.items():
        print(f'{k:12} {here:8.1e} {there:8.1e}')
    limit = 1e-4 if precision == 'fp32' else 2e-2
    return all(here <= max(limit, 2 * there) for here, there in off.values())
