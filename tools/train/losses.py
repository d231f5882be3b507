"""What a clip's answer costs. Masks are logits (n, k, h, w), truths (n, h, w), h = image_size / 4."""

import torch
import torch.nn.functional as F

import model


def around(truth, room=0.15):
    """(n, h, w): 1 in the box of each truth, grown on every side by a share of its sides."""
    inside = truth > 0.5
    lines = []
    for line in (inside.any(2), inside.any(1)):
        place = torch.arange(line.shape[1], device=line.device)
        low, high = torch.where(line, place, len(place)).amin(1), torch.where(line, place, -1).amax(1)
        grown = room * (high - low + 1).clamp(min=0)
        lines.append((place >= (low - grown)[:, None]) & (place <= (high + grown)[:, None]))
    return (lines[0][:, :, None] & lines[1][:, None]).float()


def mask_costs(masks, truth, known):
    """(n, k): 5 x binary cross-entropy + dice of each mask, over known pixels; and its IoU.

    Half of the entropy's weight lies on the thing's own box, where most mistakes are and few pixels.
    """
    masks, near = masks.float(), (around(truth) * known)[:, None]
    truth, known = truth[:, None].expand_as(masks), known[:, None]
    weight = 0.5 * known / known.sum((2, 3), keepdim=True).clamp(min=1)
    weight = weight + 0.5 * near / near.sum((2, 3), keepdim=True).clamp(min=1)
    entropy = (F.binary_cross_entropy_with_logits(masks, truth, reduction="none") * weight).sum((2, 3))
    found, wanted = masks.sigmoid() * known, truth * known
    dice = 1 - (2 * (found * wanted).sum((2, 3)) + 1) / (found.sum((2, 3)) + wanted.sum((2, 3)) + 1)
    return 5 * entropy + dice, overlap(masks, truth, known)


@torch.no_grad()
def overlap(masks, truth, known):
    """(n, k): IoU of each mask cut at zero."""
    found, wanted = (masks > 0) & (known > 0), (truth > 0.5) & (known > 0)
    return (found & wanted).sum((2, 3)) / (found | wanted).sum((2, 3)).clamp(min=1)


def mean_of(values, weights):
    return (values * weights).sum() / weights.sum().clamp(min=1)


def decoder_cost(masks, ious, score, truth, known, present, alive, single=0.5):
    """Mask 0 (times `single`) and the best of 1 to 3, all IoU predictions, and presence. `present`, `alive`: (n,)."""
    costs, real = mask_costs(masks, truth, known)
    seen = present * alive
    best = costs[:, 1:].min(1).values
    iou = (ious.float() - real).abs().mean(1)
    presence = F.binary_cross_entropy_with_logits(score[:, 0].float(), present, reduction="none")
    # Absence is rare.
    total = mean_of(best + single * costs[:, 0] + iou, seen) + mean_of(presence * (1.5 - 0.5 * present), alive)
    return total, real


def affinity_cost(features, truth, alive):
    """Labels of frame 0 carried to every other by feature similarity alone: teaches correspondence.

    features (B, T, d, h, w); truth (B, T, O, S, S); alive (B, T, O).
    """
    b, t, d, h, w = features.shape
    labels = F.adaptive_avg_pool2d(truth.flatten(0, 1), (h, w)).unflatten(0, (b, t)).flatten(3)
    unit = F.normalize(features.float().flatten(3), dim=2)
    similarity = torch.einsum("bdi,btdj->btij", unit[:, 0], unit[:, 1:]) / 0.07
    carried = torch.einsum("boi,btij->btoj", labels[:, 0], similarity.softmax(2)).clamp(1e-4, 1 - 1e-4)
    wanted = labels[:, 1:]
    cost = F.binary_cross_entropy(carried, wanted, reduction="none").mean(3)
    return mean_of(cost, alive[:, 1:])


def stills(net, clips, kind, mended=False):
    """The cost of the first frames alone: every target by its box or a click; mended: then by a second click.

    Returns the cost, IoUs (targets, 2: box, click), and where the target was asked for and to be seen (targets, 2).
    """
    b, _, o = clips.present.shape
    n, size = b * o, net.image_size
    maps = model.encode(net, model.normalise(clips.frames[:, 0]))
    fine, middle, coarse = (m.repeat_interleave(o, 0) for m in maps)
    masks = clips.masks[:, 0].reshape(n, 1, size, size)
    truth = F.avg_pool2d(masks, 4)[:, 0]
    known = (F.avg_pool2d(clips.known[:, 0].reshape(n, 1, size, size), 4)[:, 0] > 0.9).float()
    present = clips.present[:, 0].flatten()
    out, _, _ = prompt(net, kind, masks, coarse, fine, middle)
    # A box is answered by mask 0.
    single = 1.5 if kind == "box" else 0.5
    total, real = decoder_cost(out[0], out[1], out[3], truth, known, present, present, single)
    if mended:
        start = coarse + net.no_memory_embedding.reshape(1, -1, 1, 1)
        better, _, _ = mend(net, out, start, fine, middle, truth)
        cost, _ = decoder_cost(better[0], better[1], better[3], truth, known, present, present)
        total = total + 0.5 * cost
    rows, asked = torch.arange(n, device=real.device), torch.tensor([kind == "box", kind == "point"])
    clicked = real[rows, out[1][:, 1:].argmax(1) + 1]
    return total, torch.stack((real[:, 0], clicked), 1).detach(), present[:, None] * asked.to(present)


def follow(net, clips, kind, affinity=0.5, corrected=None):
    """The cost of following every target of `clips` from a prompt of `kind`, and what happened.

    `corrected`: a later frame on which one click mends the tracked mask, as a user would. Returns the
    cost, IoUs (targets, T), and where the target was to be seen (targets, T).
    """
    b, t, o = clips.present.shape
    size, side = net.image_size, net.image_size // 4
    maps = [m.unflatten(0, (b, t)) for m in model.encode(net, model.normalise(clips.frames.flatten(0, 1)))]
    # Truth at the masks' own size is the share of each cell that is covered: the outline stays exact.
    truths = F.avg_pool2d(clips.masks.flatten(0, 2)[:, None], 4)[:, 0].unflatten(0, (b, t, o))
    knowns = F.avg_pool2d(clips.known.flatten(0, 2)[:, None], 4)[:, 0].unflatten(0, (b, t, o))
    alive = clips.present[:, 0].flatten()
    memories, pointers, ious, total = Memory(net.samtrack["num_maskmem"]), [], [], 0.0
    for now in range(t):
        fine, middle, coarse = (m[:, now].repeat_interleave(o, 0) for m in maps)
        truth, known = truths[:, now].reshape(-1, side, side), (knowns[:, now].reshape(-1, side, side) > 0.9).float()
        present = clips.present[:, now].flatten()
        if now == 0:
            out, high, token = prompt(net, kind, clips.masks[:, 0].reshape(-1, 1, size, size), coarse, fine, middle)
        else:
            conditioned = model.attend(net, coarse, memories.read(now), aged(pointers, now))
            none, dense = model.no_points(net, b * o), model.dense_none(net, b * o)
            out = model.decode(net, conditioned, fine, middle, none, dense)
            high, token = chosen(net, out, multi=True)
        # A box is answered by mask 0.
        single = 1.5 if kind == "box" and not now else 0.5
        cost, real = decoder_cost(out[0], out[1], out[3], truth, known, present, alive, single)
        total = total + cost * (1.0 if now else 0.5)
        rows = torch.arange(b * o, device=real.device)
        ious.append(real[rows, out[1][:, 1:].argmax(1) + 1].detach() if now else real[:, 0].detach())
        if now and now == corrected:
            out, high, token = mend(net, out, conditioned, fine, middle, truth)
            cost, _ = decoder_cost(out[0], out[1], out[3], truth, known, present, alive)
            total = total + 0.5 * cost
        # Gated by the true presence: the published gate kills the gradient of a young model.
        seen = present[:, None]
        high = torch.where(seen[..., None, None] > 0, high, torch.zeros_like(high))
        memories.write(model.encode_memory(net, coarse, high, seen), now, now in (0, corrected))
        pointers.append(model.point_to(net, token, seen))
    total = total / t
    if affinity and t > 1:
        total = total + affinity * affinity_cost(maps[2], clips.masks, clips.present * clips.present[:, :1])
    seen = clips.present.transpose(1, 2).flatten(0, 1) * alive[:, None]
    return total, torch.stack(ious, 1), seen


class Memory:
    """Maps of earlier frames: all prompted ones, and the last `most` - 1 others."""

    def __init__(self, most=7):
        self.kept, self.most = [], most

    def write(self, memory, frame, prompted):
        self.kept.append((memory, frame, prompted))

    def read(self, now):
        """[(map, slot)] as model.attend() wants them."""
        recent = [(m, now - t - 1) for m, t, prompted in self.kept if not prompted and now - t < self.most]
        return [(m, -1) for m, _, prompted in self.kept if prompted] + recent


def aged(pointers, now):
    return [(p, now - i) for i, p in enumerate(pointers) if now - i < model.POINTERS]


def chosen(net, out, multi):
    """Probability at full size of the mask that inference would keep, and its token."""
    masks, ious, tokens, _ = out
    rows = torch.arange(len(masks), device=masks.device)
    best = ious[:, 1:].argmax(1) + 1 if multi else torch.zeros_like(rows)
    return model.upsample(masks[rows, best][:, None], net.image_size).sigmoid(), tokens[rows, best]


def prompt(net, kind, masks, coarse, fine, middle):
    """Frame 0. `masks` (n, 1, S, S) are the truth. Returns the decoder's answer, what memory sees, the token."""
    n, size = len(masks), net.image_size
    if kind == "mask":
        token_pass = net.prompt_encoder.mask_embed(net.mask_downsample(masks))
        out = model.decode(net, coarse, fine, middle, model.no_points(net, n), token_pass)
        low = F.interpolate(masks, scale_factor=0.25, mode="bilinear", align_corners=False, antialias=True)
        return out, (model.upsample(low, size) > 0.5).float(), out[2][:, 0]
    points, labels = click(masks) if kind == "point" else box(masks)
    start = coarse + net.no_memory_embedding.reshape(1, -1, 1, 1)
    sparse = model.embed_points(net, points, labels)
    out = model.decode(net, start, fine, middle, sparse, model.dense_none(net, n))
    high, token = chosen(net, out, multi=kind == "point")
    # Inference binarises the memory of a prompted frame; the gradient passes as if it did not.
    return out, high + ((high > 0.5).float() - high).detach(), token


def click(masks):
    """One point inside each mask, mostly deep inside."""
    depth = masks
    for k in (9, 17):
        depth = depth + masks * F.avg_pool2d(masks, k, 1, k // 2)
    weights = depth.flatten(1) ** 8 + 1e-12
    index = torch.multinomial(weights, 1)[:, 0]
    size = masks.shape[-1]
    points = torch.stack((index % size, index // size), 1).float()[:, None]
    return points, torch.ones(len(masks), 1, dtype=torch.long, device=masks.device)


def box(masks, shake=0.1):
    """The corners of each mask's box, in half of the cases each moved by up to a share of the sides' length."""
    size = masks.shape[-1]
    axis = torch.arange(size, device=masks.device)
    columns, rows = masks.amax((1, 2)) > 0, masks.amax((1, 3)) > 0
    low = torch.stack([torch.where(m, axis, size).amin(1) for m in (columns, rows)], 1).float()
    high = torch.stack([torch.where(m, axis, -1).amax(1) for m in (columns, rows)], 1).float() + 1
    side = (high - low).clamp(min=1)
    jitter = (torch.rand(2, *side.shape, device=masks.device) - 0.5) * 2 * shake * side
    jitter = jitter * (torch.rand(len(masks), 1, device=masks.device) < 0.5)
    points = torch.stack(((low + jitter[0]), (high + jitter[1])), 1).clamp(0, size)
    labels = torch.tensor([2, 3], device=masks.device).expand(len(masks), 2)
    return points, labels


def mend(net, out, conditioned, fine, middle, truth):
    """One click where the tracked mask is wrong, the previous logits as the dense prompt."""
    masks, ious, *_ = out
    rows = torch.arange(len(masks), device=masks.device)
    before = masks[rows, ious[:, 1:].argmax(1) + 1].detach().float()
    wrong = ((before > 0) != (truth > 0.5)).float()[:, None]
    # Where nothing is wrong, a click inside confirms.
    wrong = torch.where(wrong.sum((1, 2, 3), keepdim=True) > 0, wrong, (truth > 0.5).float()[:, None])
    points, _ = click(wrong)
    x, y = points[:, 0].long().unbind(1)
    labels = (truth[rows, y, x] > 0.5).long()[:, None]
    sparse = model.embed_points(net, points * 4 + 1.5, labels)
    dense = net.prompt_encoder.mask_embed(before[:, None].clamp(-32, 32))
    out = model.decode(net, conditioned, fine, middle, sparse, dense)
    high, token = chosen(net, out, multi=True)
    return out, high + ((high > 0.5).float() - high).detach(), token
