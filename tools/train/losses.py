# SPDX-License-Identifier: MIT
"""The losses of a clip. Masks are logits (n, k, h, w), truths (n, h, w), h = image_size / 4."""

import contextlib
import functools

import torch
import torch.nn.functional as F

import model
import pooling
import prompts


def around(truth, room=0.15):
    """(n, h, w): 1 in the box of each truth, grown on every side by a share of its sides."""
    lines = []
    for low, high, count in zip(*(c.unbind(1) for c in prompts.corners(truth)), (truth.shape[2], truth.shape[1])):
        place = torch.arange(count, device=truth.device)
        grown = room * (high - low).clamp(min=0)
        lines.append((place >= (low - grown)[:, None]) & (place <= (high - 1 + grown)[:, None]))
    return (lines[1][:, :, None] & lines[0][:, None]).float()


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


def quartered(maps):
    """Means of 4 x 4 pixels: (..., h, w) to (..., h / 4, w / 4). A view's mean: avg_pool2d is slow on CPUs."""
    return maps.unflatten(-2, (-1, 4)).unflatten(-1, (-1, 4)).mean((-3, -1))


@torch.no_grad()
def overlap(masks, truth, known):
    """(n, k): IoU of each mask cut at zero."""
    found, wanted = (masks > 0) & (known > 0), (truth > 0.5) & (known > 0)
    return (found & wanted).sum((2, 3)) / (found | wanted).sum((2, 3)).clamp(min=1)


def mean_of(values, weights):
    return (values * weights).sum() / weights.sum().clamp(min=1)


def of_chosen(ious):
    """(n,): the index of the mask of 1 to 3 that inference takes."""
    return ious[:, 1:].argmax(1) + 1


def judgement_cost(ious, real):
    """(n,): squares, whose least is the mean of what happens: a score of 0.6 is to be right six times in ten.

    The least of absolute distances is the median: a click that is answered well two times in three was predicted 0.85.
    """
    return 4 * (ious.float() - real).square().mean(1)


def choice_cost(ious, real):
    """(n,): how much IoU is lost by a choice among masks 1 to 3 that follows the predictions softly."""
    share = (ious[:, 1:].float() / 0.05).softmax(1)
    return real[:, 1:].amax(1) - (share * real[:, 1:]).sum(1)


def decoder_cost(masks, ious, score, truth, known, present, alive, single=0.5):
    """What an answer costs. `present`, `alive`: (n,).

    Mask 0 (times `single`), the best of 1 to 3 (so they part company: part, thing, group), the one of them that would
    be taken, which the best one's cost alone leaves untaught wherever it is not the best; all IoU predictions, the
    choice they lead to, and presence.
    """
    costs, real = mask_costs(masks, truth, known)
    seen = present * alive
    rows = torch.arange(len(masks), device=masks.device)
    best, taken = costs[:, 1:].min(1).values, costs[rows, of_chosen(ious)]
    iou = judgement_cost(ious, real) + choice_cost(ious, real)
    presence = F.binary_cross_entropy_with_logits(score[:, 0].float(), present, reduction="none")
    # Absence is rare.
    answer = 0.6 * best + 0.6 * taken + single * costs[:, 0] + iou
    return mean_of(answer, seen) + mean_of(presence * (1.5 - 0.5 * present), alive), real


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


@contextlib.contextmanager
def seen_weights(net):
    """A list that receives, for every call, the weights (n, 1, h w, keys) with which the first layer reads memory."""
    weights = []
    reader = net.memory_attention.layers[0].cross_attn_image
    handle = reader.register_forward_hook(lambda module, given, out: weights.append(out[1]))
    try:
        yield weights
    finally:
        handle.remove()


def carried_cost(weights, remembered, wanted, known, alive):
    """Labels of the remembered frames carried to this one by the weights with which memory is read.

    Attention that looks for what looks alike finds a thing where it has moved to; by place alone, it loses it. weights
    (n, 1, h w, keys), those of the maps first; remembered (n, maps h w), wanted and known (n, h, w): the share of each cell.
    """
    carried = torch.einsum("nij,nj->ni", weights[:, 0, :, : remembered.shape[1]].float(), remembered)
    cost = F.binary_cross_entropy(carried.clamp(1e-4, 1 - 1e-4), wanted.flatten(1), reduction="none")
    near = (around(wanted) * known).flatten(1)
    everywhere = known.flatten(1)
    shares = [(cost * w).sum(1) / w.sum(1).clamp(min=1) for w in (near, everywhere)]
    return mean_of(0.5 * sum(shares), alive)


def stills(net, clips, mended=0, clicks=2):
    """The cost of the first frames alone: every target by its box and by `clicks` clicks, each apart.

    An image is encoded once and asked often: the decoder's part of the work is small. mended: corrections of each
    answer, one after another. Returns the cost, IoUs (targets, 2: box, click), and where the target was to be seen.
    """
    b, _, o = clips.present.shape
    n, size = b * o, net.image_size
    maps = model.encode(net, model.normalise(net, clips.frames[:, 0]))
    known, truth = (quartered(m[:, 0]).flatten(0, 1) for m in (clips.known, clips.masks))
    known = (known > 0.9).float()
    total, ious = 0.0, []
    for kind, times in (("box", 1), ("point", clicks)):
        fine, middle, coarse = (m.repeat_interleave(o, 0).repeat(times, 1, 1, 1) for m in maps)
        masks = clips.masks[:, 0].reshape(n, 1, size, size).repeat(times, 1, 1, 1)
        asked, present = truth.repeat(times, 1, 1), clips.present[:, 0].flatten().repeat(times)
        judge = functools.partial(
            decoder_cost, truth=asked, known=known.repeat(times, 1, 1), present=present, alive=present
        )
        given = prompts.box(masks) if kind == "box" else prompts.click(masks)
        start = coarse + net.no_memory_embedding.reshape(1, -1, 1, 1)
        out = answer(net, given, start, fine, middle)
        # A box is answered by mask 0.
        cost, real = judge(*kept(out), single=1.5 if kind == "box" else 0.5)
        taken = real[:, 0] if kind == "box" else real[torch.arange(len(real), device=real.device), of_chosen(out[1])]
        ious.append(taken.reshape(times, n).mean(0))
        total = total + cost
        for _ in range(mended):
            out, given = mend(net, out, given, start, fine, middle, asked)
            cost, _ = judge(*kept(out), single=1.5)
            total = total + 0.5 * cost / mended
    return total, torch.stack(ious, 1).detach(), clips.present[:, 0].reshape(n, 1).expand(n, 2)


def mistakes(targets, wrong, device):
    """How memory errs about the share `wrong` of `targets` (clips, targets of each): (shifts, joined).

    After a hundred frames a mask has leaked into what it nearly took, or lost what it nearly left, and memory tells so
    with every frame that it holds; the clips of training are too short to come to that. shifts (n, 1, 1, 1) are added
    to the logits of tracked masks before they are remembered; joined (n,) bool: the clip's other target is remembered too.
    """
    n = targets[0] * targets[1]
    shifts = (torch.rand(n, device=device) * 2 - 1) * 2.5 * (torch.rand(n, device=device) < wrong)
    joined = (torch.rand(n, device=device) < 0.3 * wrong) & (targets[1] == 2)
    return shifts[:, None, None, None], joined


def with_other(high, joined):
    """Masks (clips 2, 1, S, S), those of `joined` together with the other one of their clip."""
    if not joined.any():
        return high
    other = high.unflatten(0, (-1, 2)).flip(1).flatten(0, 1)
    return torch.where(joined[:, None, None, None], torch.maximum(high, other), high)


def follow(net, clips, kind, affinity=0.5, corrected=None, own=0.5, carry=0.5, wrong=0.4):
    """The cost of following every target of `clips` from a prompt of `kind`, and what happened.

    `corrected`: a later frame on which one click mends the tracked mask, as a user would. `own`: how often memory holds
    the model's own answer whether the target is present, as in tracking, instead of the truth. `wrong`: for how many
    targets memory errs, see mistakes(). Returns the cost, IoUs (targets, T), and where the target was to be seen (targets, T).
    """
    b, t, o = clips.present.shape
    size, side = net.image_size, net.image_size // 4
    maps = [m.unflatten(0, (b, t)) for m in model.encode(net, model.normalise(net, clips.frames.flatten(0, 1)))]
    # Truth at the masks' own size is the share of each cell that is covered: the outline stays exact.
    truths, knowns = quartered(clips.masks), quartered(clips.known)
    alive = clips.present[:, 0].flatten()
    labels, sure = (F.adaptive_avg_pool2d(m.flatten(0, 1), size // 16).unflatten(0, (b, t)) for m in (clips.masks, clips.known))
    labels = [m.flatten(0, 1) for m in labels.unbind(1)]
    selects = net.samtrack.get("memory_selection") == "present"
    memories, pointers, ious, total = Memory(net.samtrack["num_maskmem"]), [], [], 0.0
    shifts, joined = mistakes((b, o), wrong, maps[2].device)
    for now in range(t):
        fine, middle, coarse = (m[:, now].repeat_interleave(o, 0) for m in maps)
        truth, known = truths[:, now].reshape(-1, side, side), (knowns[:, now].reshape(-1, side, side) > 0.9).float()
        present = clips.present[:, now].flatten()
        if now == 0:
            out, high, token = prompt(net, kind, clips.masks[:, 0].reshape(-1, 1, size, size), coarse, fine, middle)
        else:
            memory = memories.read()
            with seen_weights(net) as weights:
                conditioned = model.attend(net, coarse, [(m[0], slot) for m, slot in memory], aged(pointers, now))
            remembered = torch.cat([m[1].flatten(1) for m, _ in memory], 1)
            if pooling.kind_of(net.samtrack) != "none":
                remembered = pooling.pooled(remembered[..., None], size // 16, pooling.is_between(net.samtrack))[..., 0]
            certain = (sure[:, now].flatten(0, 1) > 0.9).float()
            total = total + carry * carried_cost(weights[0], remembered, labels[now], certain, alive)
            none, dense = model.no_points(net, b * o), model.dense_none(net, b * o)
            out = model.decode(net, conditioned, fine, middle, none, dense)
            high, token = chosen(net, out, multi=True, shifts=shifts)
            high = with_other(high, joined)
        # A box is answered by mask 0.
        single = 1.5 if kind == "box" and not now else 0.5
        cost, real = decoder_cost(*kept(out), truth, known, present, alive, single)
        total = total + cost * (1.0 if now else 0.5)
        rows = torch.arange(b * o, device=real.device)
        ious.append(real[rows, of_chosen(out[1]) if now or kind == "point" else 0 * rows].detach())
        if now and now == corrected:
            out, given = mend(net, out, None, conditioned, fine, middle, truth)
            cost, _ = decoder_cost(*kept(out), truth, known, present, alive)
            total = total + 0.5 * cost
            high, token = chosen(net, out, multi=True)
            high = binarised(high)
        # By the true presence a young model learns, whose gradient the published gate kills. By its own it learns what
        # follows from its mistakes: a thing that comes back slowly was remembered as absent when it was in view already,
        # and is never found by a model that believes its memory more than its eyes.
        seen = present[:, None]
        if now and now != corrected:
            seen = torch.where(torch.rand_like(seen) < own, (out[3].detach() > 0).float(), seen)
        high = torch.where(seen[..., None, None] > 0, high, torch.zeros_like(high))
        counts = seen[:, 0] > 0 if selects else None
        memories.write((model.encode_memory(net, coarse, high, seen), labels[now]), now in (0, corrected), counts)
        pointers.append(model.point_to(net, token, seen))
    total = total / t
    if affinity and t > 1:
        total = total + affinity * affinity_cost(maps[2], clips.masks, clips.present * clips.present[:, :1])
    seen = clips.present.transpose(1, 2).flatten(0, 1) * alive[:, None]
    return total, torch.stack(ious, 1), seen


class Memory:
    """What is remembered of earlier frames: all prompted ones, and the last `most` - 1 others, of each target.

    A memory is a tuple of tensors (targets, ...). With memory selection frames without the target do not count for it; where it
    has fewer frames than others, the first prompted one stands for those that it lacks.
    """

    def __init__(self, most=7):
        self.prompted, self.others, self.most = [], [], most  # others: the youngest first; None: it was prompted

    def write(self, memory, prompted, counts=None):
        """counts: bool (targets,), for which of them the frame counts; None: for all."""
        if prompted:
            self.prompted.append(memory)
            others = [None, *self.others]
        elif counts is None:
            others = [memory, *self.others]
        else:
            pairs = zip([memory, *self.others], [*self.others, None])
            others = [self.either(counts, younger, older) for younger, older in pairs]
        self.others = others[: self.most - 1]

    def either(self, first, a, b):
        if a is None and b is None:
            return None
        a, b = (self.prompted[0] if m is None else m for m in (a, b))
        return tuple(torch.where(first.reshape(-1, *[1] * (x.ndim - 1)), x, y) for x, y in zip(a, b))

    def read(self):
        """[(memory, slot)] with the slots that model.attend() wants, prompted frames first."""
        others = [(m, age) for age, m in enumerate(self.others) if m is not None]
        return [(m, -1) for m in self.prompted] + others[::-1]


def aged(pointers, now):
    return [(p, now - i) for i, p in enumerate(pointers) if now - i < model.POINTERS]


def chosen(net, out, multi, shifts=0.0):
    """Probability at full size of the mask that inference would keep, its logits shifted, and its token."""
    masks, ious, tokens, _ = out
    rows = torch.arange(len(masks), device=masks.device)
    best = of_chosen(ious) if multi else torch.zeros_like(rows)
    return (model.upsample(masks[rows, best][:, None], net.image_size) + shifts).sigmoid(), tokens[rows, best]


def prompt(net, kind, masks, coarse, fine, middle):
    """Frame 0. `masks` (n, 1, S, S) are the truth. Returns the decoder's answer, what memory sees, the token."""
    n, size = len(masks), net.image_size
    if kind == "mask":
        token_pass = net.prompt_encoder.mask_embed(net.mask_downsample(masks))
        out = model.decode(net, coarse, fine, middle, model.no_points(net, n), token_pass)
        low = F.interpolate(masks, scale_factor=0.25, mode="bilinear", align_corners=False, antialias=True)
        return out, (model.upsample(low, size) > 0.5).float(), out[2][:, 0]
    given = prompts.click(masks) if kind == "point" else prompts.box(masks)
    out = answer(net, given, coarse + net.no_memory_embedding.reshape(1, -1, 1, 1), fine, middle)
    high, token = chosen(net, out, multi=kind == "point")
    return out, binarised(high), token


def answer(net, given, conditioned, fine, middle, dense=None):
    """The decoder's answer to points and their labels, with the embedding of an earlier answer or none."""
    dense = model.dense_none(net, len(fine)) if dense is None else dense
    return model.decode(net, conditioned, fine, middle, model.embed_points(net, *given), dense)


def kept(out):
    """What of the decoder's answer is judged: masks, IoUs, object score."""
    return out[0], out[1], out[3]


def binarised(high):
    """Inference binarises the memory of a prompted frame; the gradient passes as if it did not."""
    return high + ((high > 0.5).float() - high).detach()


def mend(net, out, given, conditioned, fine, middle, truth):
    """A further click where the answer is most wrong, the earlier logits as the dense prompt; all clicks so far.

    given: the points and labels before, None on a tracked frame. A box is answered by mask 0, and so are several points.
    """
    masks, ious, *_ = out
    rows = torch.arange(len(masks), device=masks.device)
    single = given is not None and given[1].shape[1] > 1
    before = masks[rows, 0 * rows if single else of_chosen(ious)].detach().float()
    points, labels = prompts.correction(before, truth)
    new = (points * 4 + 1.5, labels)
    given = new if given is None else tuple(torch.cat(pair, 1) for pair in zip(given, new))
    dense = net.prompt_encoder.mask_embed(before[:, None].clamp(-32, 32))
    return answer(net, given, conditioned, fine, middle, dense), given
