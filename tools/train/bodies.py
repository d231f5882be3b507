#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Renders moving bodies with exact masks, shadows and depth in a simulator, and writes them to one file.

    MUJOCO_GL=osmesa bodies.py --out FILE --videos DIR [--clips 60] [--workers 2]

Needs `pip install mujoco` and libosmesa6 (or MUJOCO_GL=egl on a GPU); training does not. The bodies are generated: trunks
with hinged limbs, bottles, boxes, balls, thin poles; no package of models is used. Their textures are pieces of video
frames. They stand on textured ground, or on white ground whose shadows then darken real footage.
"""

import argparse
import concurrent.futures
import multiprocessing
import os
import sys

import cv2
import numpy as np

import bank
import outlines
import tracks

SKIN = 128  # side of a texture, pixels
SKINS, GROUNDS = 12, 4  # textures, and how many of those the ground and walls wear
VIEW = 3.0  # half of the ground's width in view, metres, about
KINDS = ("few", "crowd", "table", "near")


def piece_of(videos, rng, size):
    """A random piece of a random frame at `size` (w, h)."""
    video = videos[rng.integers(len(videos))]
    frame = video[rng.integers(len(video))]
    share = rng.uniform(0.15, 1.0)
    h, w = (int(v * share) for v in frame.shape[:2])
    y, x = rng.integers(0, frame.shape[0] - h + 1), rng.integers(0, frame.shape[1] - w + 1)
    return cv2.resize(frame[y : y + h, x : x + w], size, interpolation=cv2.INTER_AREA)


class Scene:
    """A world of invented things in MuJoCo's terms. things: (root body, names of its parts' bodies, joints)."""

    def __init__(self, mujoco, rng, matted):
        self.mujoco, self.rng = mujoco, rng
        self.spec = mujoco.MjSpec()
        self.spec.visual.global_.offwidth, self.spec.visual.global_.offheight = bank.WIDTH, bank.HEIGHT
        self.spec.visual.global_.fovy = self.opening = float(rng.uniform(25, 60))
        self.spec.visual.quality.shadowsize = 4096
        self.spec.stat.extent, self.spec.stat.center = 4 * VIEW, np.zeros(3)  # less leaves specks of shadow
        self.spec.visual.headlight.ambient = rng.uniform(0.25, 0.5) * np.ones(3)
        self.spec.visual.headlight.diffuse = rng.uniform(0.1, 0.4) * np.ones(3)
        for i in range(SKINS):
            kind = mujoco.mjtTexture.mjTEXTURE_2D
            flat = mujoco.mjtBuiltin.mjBUILTIN_FLAT
            self.spec.add_texture(name=f"t{i}", type=kind, builtin=flat, width=SKIN, height=SKIN)
            textures = [""] * int(mujoco.mjtTextureRole.mjNTEXROLE)
            textures[int(mujoco.mjtTextureRole.mjTEXROLE_RGB)] = f"t{i}"
            shine = float(rng.uniform(0, 0.6))
            # Grounds and walls by the metre, bodies by their own size.
            repeat = rng.uniform(0.1, 0.6, 2) if i < GROUNDS else rng.uniform(0.5, 2, 2)
            look = {"texuniform": i < GROUNDS, "texrepeat": repeat, "specular": shine, "shininess": shine}
            self.spec.add_material(name=f"m{i}", textures=textures, **look)
        self.spec.add_material(name="white", rgba=[1, 1, 1, 1], specular=0)
        high = rng.uniform(0.5, 1.5)
        turn = rng.uniform(0, 2 * np.pi)
        self.spec.worldbody.add_light(
            pos=[0, 0, 6], dir=[np.cos(turn), np.sin(turn), -high], castshadow=True,
            type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL, diffuse=rng.uniform(0.4, 0.8) * np.ones(3),
        )
        ground = "white" if matted else "m0"
        self.spec.worldbody.add_geom(
            name="ground", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[40, 40, 1], material=ground
        )
        if not matted:
            self.walls()
        self.things = []

    def walls(self):
        """Planes and blocks behind, so that boxes hold more ground than one."""
        for _ in range(self.rng.integers(2, 6)):
            away, turn = self.rng.uniform(3, 9), self.rng.uniform(0, 2 * np.pi)
            self.spec.worldbody.add_geom(
                type=self.mujoco.mjtGeom.mjGEOM_BOX, size=self.rng.uniform(0.2, 3, 3), euler=[0, 0, turn],
                pos=[away * np.cos(turn), away * np.sin(turn), 0], material=f"m{self.rng.integers(GROUNDS)}",
            )

    def geom(self, body, kind, size, skin, **more):
        body.add_geom(type=getattr(self.mujoco.mjtGeom, f"mjGEOM_{kind}"), size=size, material=f"m{skin}", **more)

    def limb(self, body, name, start, length, thick, skin, depth, joints):
        """A chain of capsules, each on a hinge of the one before; longer towards no end."""
        part = body.add_body(name=name, pos=start)
        axis = self.rng.normal(size=3)
        joints.append(part.add_joint(name=f"{name}.j", axis=axis / np.linalg.norm(axis)).name)
        way = self.rng.normal(size=3) * (0.6, 0.6, 0.3) - (0, 0, 0.8 if depth < 2 else 0.2)
        end = way / np.linalg.norm(way) * length
        self.geom(part, "CAPSULE", [thick, 0, 0], skin, fromto=[0, 0, 0, *end])
        if depth:
            self.limb(part, f"{name}.", end, length * self.rng.uniform(0.7, 1.1), 0.8 * thick, skin, depth - 1, joints)

    def creature(self, body, name, size, recipe):
        """A trunk, a head, and limbs. recipe: the seed of its shape, so that twins can be had."""
        own, self.rng = self.rng, np.random.default_rng(recipe)
        rng, joints, parts = self.rng, [], []
        skins = rng.integers(GROUNDS, SKINS, 3)
        trunk = size * np.array((rng.uniform(0.25, 0.6), rng.uniform(0.15, 0.3), rng.uniform(0.15, 0.4)))
        self.geom(body, "ELLIPSOID", trunk, skins[0])
        for i in range(rng.integers(2, 7)):
            side = rng.uniform(-1, 1, 3) * trunk * (0.9, 0.8, 0.5)
            length, thick = size * rng.uniform(0.2, 0.5), size * rng.uniform(0.03, 0.12)
            self.limb(body, f"{name}.l{i}", side, length, thick, skins[rng.integers(2)], rng.integers(0, 3), joints)
            parts.append(f"{name}.l{i}")
        head = body.add_body(name=f"{name}.head", pos=[0.8 * trunk[0], 0, 0.7 * trunk[2]])
        joints.append(head.add_joint(name=f"{name}.neck", axis=[0, 1, 0]).name)
        self.geom(head, "ELLIPSOID", size * rng.uniform(0.1, 0.28, 3), skins[2], pos=[0.07 * size, 0, 0.07 * size])
        parts.append(f"{name}.head")
        self.rng = own
        return parts, joints

    def object(self, body, name, size, recipe):
        """A bottle, box, ball or pole; the same for the same recipe."""
        rng = np.random.default_rng(recipe)
        kind = rng.choice(("bottle", "box", "ball", "pole"), p=(0.45, 0.25, 0.15, 0.15))
        skin, cap = rng.integers(GROUNDS, SKINS, 2)
        if kind == "bottle":
            wide, tall = size * rng.uniform(0.12, 0.25), size * rng.uniform(0.3, 0.5)
            self.geom(body, "CYLINDER", [wide, tall, 0], skin)
            top = body.add_body(name=f"{name}.top", pos=[0, 0, tall])
            self.geom(top, "ELLIPSOID", [wide, wide, 0.5 * wide], skin)
            self.geom(top, "CYLINDER", [0.35 * wide, 0.4 * tall, 0], cap, pos=[0, 0, 0.3 * tall])
            return [f"{name}.top"], []
        if kind == "box":
            self.geom(body, "BOX", size * rng.uniform(0.1, 0.5, 3), skin)
        elif kind == "ball":
            self.geom(body, "SPHERE", [size * rng.uniform(0.2, 0.4), 0, 0], skin)
        else:
            self.geom(body, "CYLINDER", [size * rng.uniform(0.02, 0.05), size * rng.uniform(0.5, 0.9), 0], skin)
        return [], []

    def add(self, size, recipe, alive):
        name = f"b{len(self.things)}"
        body = self.spec.worldbody.add_body(name=name)
        body.add_freejoint(name=f"{name}.free")
        parts, joints = (self.creature if alive else self.object)(body, name, size, recipe)
        self.things.append((name, parts, joints))


class Path:
    """Where a thing is and what its joints do, frame by frame."""

    def __init__(self, rng, place, size, pace, joints, alive, leaves, frames):
        self.place, self.size, self.alive = np.array(place), size, alive
        self.pace, self.turn = pace, rng.uniform(0, 2 * np.pi)
        self.swing, self.speed = rng.uniform(0, 0.5, 2), rng.uniform(0.05, 0.25, 2)
        self.phase = rng.uniform(0, 2 * np.pi, 2)
        self.bend = [(rng.uniform(0.1, 0.9), rng.uniform(0.1, 0.6), rng.uniform(0, 6)) for _ in joints]
        away = rng.uniform(0, 2 * np.pi)
        self.away = 4 * VIEW * np.array((np.cos(away), np.sin(away)))
        self.back = rng.uniform(-0.6, 0.6, 2) * VIEW  # another place to come back to
        first = rng.integers(3, max(4, frames // 3))
        self.out = (first, first + rng.integers(frames // 3, frames // 2 + 1)) if leaves else None

    def at(self, t):
        """x, y, z, heading."""
        way = np.array((np.cos(self.turn), np.sin(self.turn)))
        here = self.place + way * self.pace * t + self.swing * np.sin(self.speed * t + self.phase) * self.pace * 8
        if self.out:
            first, last = self.out
            gone = np.clip((t - first) / 3, 0, 1) - np.clip((t - last) / 3, 0, 1)
            here = here + (self.back if t >= last else 0) + gone * self.away
        rise = 0.05 * self.size * abs(np.sin(3 * self.speed[0] * t)) if self.alive else 0
        return here[0], here[1], 0.5 * self.size + rise, self.turn + 0.3 * np.sin(self.speed[1] * t)

    def bends(self, t):
        return [a * np.sin(w * t + p) for a, w, p in self.bend]


def populate(scene, kind, frames):
    """Adds the things of a scene; their paths."""
    rng, paths = scene.rng, []
    count = {"few": rng.integers(2, 5), "crowd": rng.integers(7, 14), "table": rng.integers(3, 6), "near": 2}[kind]
    recipes = rng.integers(1 << 30, size=count)
    if kind == "table" or kind == "crowd":
        recipes[: max(2, count // 2)] = recipes[0]  # twins
    spread = {"few": 0.5, "crowd": 0.9, "table": 0.5, "near": 0.25}[kind] * VIEW
    for i, recipe in enumerate(recipes):
        alive = kind != "table" and np.random.default_rng(recipe).random() < (0.5 if kind == "crowd" else 0.75)
        like = np.random.default_rng(recipe + 1)  # twins are of one size
        size = VIEW * like.uniform(0.15, 0.4) * {"few": 1.2, "crowd": 0.8, "table": 1.0, "near": 2.4}[kind]
        scene.add(size, recipe, alive)
        place = rng.uniform(-spread, spread, 2)
        if kind == "table":
            place = np.array(((i - (count - 1) / 2) * 0.6, 0.0)) * VIEW * 0.5 + rng.normal(size=2) * 0.1
        pace = VIEW * rng.uniform(0, 0.06) * (alive or rng.random() < 0.3)
        leaves = rng.random() < (0.5 if kind == "table" else 0.25)
        paths.append(Path(rng, place, size, pace, scene.things[-1][2], alive, leaves, frames))
    return paths


def owners(model, scene):
    """For each geom: the thing's number or -1, and the part's (over all things) or -1."""
    number = {model.body(name).id: i for i, (name, _, _) in enumerate(scene.things)}
    parts = [(model.body(p).id, i) for i, (_, names, _) in enumerate(scene.things) for p in names]
    part_of = {body: k for k, (body, _) in enumerate(parts)}
    thing, part = np.full(model.ngeom, -1), np.full(model.ngeom, -1)
    for g in range(model.ngeom):
        body = model.geom_bodyid[g]
        while body:
            part[g] = part_of.get(body, part[g])
            thing[g] = number.get(body, thing[g])
            body = model.body_parentid[body]
    return thing, part


def pose(model, data, scene, paths, t):
    for (name, _, joints), path in zip(scene.things, paths):
        x, y, z, turn = path.at(t)
        free = data.joint(f"{name}.free")
        free.qpos[:] = (x, y, z, np.cos(turn / 2), 0, 0, np.sin(turn / 2))
        for joint, angle in zip(joints, path.bends(t)):
            data.joint(joint).qpos[:] = angle


def camera_path(mujoco, rng, opening):
    """A function of the frame: orbits, shakes, from above or from the side; `opening`: the angle of view in degrees."""
    azimuth, orbit = rng.uniform(0, 360), rng.choice((0, 0, 1)) * rng.uniform(-2.5, 2.5)
    elevation = -rng.uniform(5, 35) if rng.random() < 0.75 else -rng.uniform(35, 80)
    distance, closer = VIEW / np.tan(np.radians(opening / 2)) * rng.uniform(0.5, 0.9), rng.uniform(-0.01, 0.01)
    shake = rng.choice((0, 0.01, 0.03)) * VIEW

    def at(t):
        camera = mujoco.MjvCamera()
        camera.azimuth, camera.elevation = azimuth + orbit * t, elevation
        camera.distance = distance * np.exp(closer * t)
        camera.lookat = np.array((0, 0, 0.25 * VIEW)) + shake * rng.normal(size=3)
        return camera

    return at


def dress(model, videos, rng):
    """Every texture a piece of a video frame, in colours of its own."""
    for i in range(SKINS):
        skin = piece_of(videos, rng, (SKIN, SKIN)).astype(np.float32)
        if i >= GROUNDS:  # bodies, unlike grounds, have a colour
            skin = skin * rng.uniform(0.3, 0.9) + rng.uniform(0, 255, 3) * rng.uniform(0.1, 0.6)
        first = model.texture(f"t{i}").adr[0]
        model.tex_data[first : first + 3 * SKIN * SKIN] = np.clip(skin, 0, 255).astype(np.uint8).ravel()


def footage(videos, rng, count):
    """Frames of one video to stand behind, forwards, as many as are wanted."""
    video = videos[rng.integers(len(videos))]
    first = rng.integers(0, max(1, len(video) - count))
    return [video[min(first + t, len(video) - 1)] for t in range(count)]


def over(behind, picture, thing, solid):
    """Things over footage, which the shadows on white ground (what is solid and no thing) darken."""
    light = np.where(solid, picture.max(2) / 255.0, 1.0)
    full = np.percentile(light[solid & ~thing], 80) if (solid & ~thing).any() else 1.0
    shade = cv2.blur(np.clip(light / max(full, 0.1), 0, 1), (3, 3))[..., None]
    return np.where(thing[..., None], picture, behind * shade).astype(np.uint8)


def clip(videos, seed, frames):
    """Pictures u8 (T, H, W, 3) and label maps of things and of parts, int16 (T, H, W), -1 where none."""
    import mujoco

    rng = np.random.default_rng(seed)
    matted, kind = rng.random() < 0.5, KINDS[seed % len(KINDS)]
    scene = Scene(mujoco, rng, matted)
    paths = populate(scene, kind, frames)
    model = scene.spec.compile()
    dress(model, videos, rng)
    data, view = mujoco.MjData(model), camera_path(mujoco, rng, scene.opening)
    thing, part = (np.append(v, -1) for v in owners(model, scene))
    behind, pictures, things, parts = footage(videos, rng, frames), [], [], []
    with mujoco.Renderer(model, bank.HEIGHT, bank.WIDTH) as renderer:
        for t in range(frames):
            pose(model, data, scene, paths, t)
            mujoco.mj_forward(model, data)
            renderer.update_scene(data, view(t))
            picture = renderer.render().copy()
            renderer.enable_segmentation_rendering()
            found = renderer.render()
            renderer.disable_segmentation_rendering()
            geoms = np.where(found[..., 1] == mujoco.mjtObj.mjOBJ_GEOM, found[..., 0], -1)
            if matted:
                picture = over(behind[t], picture, thing[geoms] >= 0, geoms >= 0)
            pictures.append(picture)
            things.append(thing[geoms])
            parts.append(part[geoms])
    return np.stack(pictures), np.stack(things).astype(np.int16), np.stack(parts).astype(np.int16)


def worth(masks, least=0.003, most=0.7):
    """Whether a region is large enough on some frames, and not nearly everything."""
    area = masks.mean((1, 2))
    return (area > least).sum() >= tracks.SHORTEST and area.max() < most


def regions(labels):
    """Masks bool (T, h, w) at the size of tracks of each number in `labels`."""
    small = labels[:, :: bank.HEIGHT // tracks.MAP[1], :: bank.WIDTH // tracks.MAP[0]]
    found = (small == i for i in range(labels.max() + 1))
    return [m for m in found if worth(m)]


def one(videos, seed, frames):
    """(pictures, masks of what can be followed): whole things, and parts of them."""
    pictures, things, parts = clip(videos, seed, frames)
    whole, some = regions(things), regions(parts)
    rng = np.random.default_rng(seed)
    # Few parts: a click asks for the whole more often, and the choice among three masks learns which.
    some = [some[i] for i in rng.permutation(len(some))[: len(whole) // 4]]
    return pictures, whole + some


def make(videos, seed, clips, frames, workers):
    spawn = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(workers, mp_context=spawn) as pool:
        jobs = [pool.submit(one, videos[i % len(videos) :][:8], seed + i, frames) for i in range(clips)]
        out = []
        for job in jobs:
            out.append(job.result())
            print(f"clip {len(out)} of {clips}", flush=True)
        return out


def save(path, made):
    """Frames as JPEG, masks as bits."""
    images = [cv2.imencode(".jpg", f[..., ::-1], (cv2.IMWRITE_JPEG_QUALITY, 93))[1] for v, _ in made for f in v]
    masks = [m for _, found in made for m in found]
    part = f"{path}.part.npz"
    np.savez(
        part,
        lengths=np.array([len(v) for v, _ in made]),
        regions=np.array([len(found) for _, found in made]),
        sizes=np.array([len(i) for i in images]),
        images=np.concatenate(images),
        masks=np.packbits(np.concatenate(masks), axis=2),
    )
    os.replace(part, path)


def load(path, first):
    """Videos, tracks and outlines as those modules have theirs; `first`: how many frames are before them."""
    try:
        with np.load(path) as f:
            lengths, counts, sizes = (f[k].tolist() for k in ("lengths", "regions", "sizes"))
            images, masks = np.split(f["images"], np.cumsum(sizes)[:-1]), np.unpackbits(f["masks"], axis=2) > 0
    except (OSError, KeyError, ValueError) as error:
        raise bank.BankError(f"{path}: not a file of bodies ({error})") from None
    frames = [cv2.imdecode(i, cv2.IMREAD_COLOR)[..., ::-1] for i in images]
    videos, found, outlines, begin, row = [], [], [], 0, 0
    for length, count in zip(lengths, counts):
        videos.append(np.stack(frames[begin : begin + length]))
        for _ in range(count):
            here = masks[row : row + length]
            found.append((first + begin, here.astype(np.uint8) * 255, bank.RENDERED))
            outlines += outlines_of(here, first + begin)
            row += length
        begin += length
    return videos, found, outlines


def outlines_of(masks, first, every=4):
    """[(frame, mask at the size of outlines, RENDERED)] of the frames where the region is well in view."""
    large = ((t, m) for t, m in enumerate(masks) if t % every == 0 and 0.004 < m.mean() < 0.6)
    return [(first + t, cv2.resize(m.astype(np.float32), outlines.SIZE) > 0.5, bank.RENDERED) for t, m in large]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--out", required=True)
    p.add_argument("--videos", help="folder of videos for textures of bodies, ground and background")
    p.add_argument("--clips", type=int, default=60)
    p.add_argument("--frames", type=int, default=24)
    p.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    p.add_argument("--seed", type=int, default=1)
    args = p.parse_args()
    try:
        videos = bank.load_videos(args.videos, 200)[0] if args.videos else bank.invent(args.seed)
        save(args.out, make(videos, args.seed, args.clips, args.frames, args.workers))
    except (bank.BankError, ImportError, OSError) as error:
        print(f"bodies.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
