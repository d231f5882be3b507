# SPDX-License-Identifier: MIT
"""Processes that generate clips ahead of the trainer, which would otherwise wait for them, above all on a GPU."""

import ctypes
import queue

import torch
import torch.multiprocessing

import data


class FeederError(Exception):
    """Why no clips come, in one sentence."""


def packed(clips):
    """As arrays of bytes: a quarter of the memory, and colours rounded as a camera's are.

    Not as tensors: those would be shared by descriptors, too many soon, or by a process that complains when killed.
    """
    return [v.round().byte().numpy() for v in (clips.frames, clips.masks, clips.known, clips.present)]


def unpacked(parts, device):
    return data.Clips(*(torch.from_numpy(v).to(device).float() for v in parts))


def make(generator, seed, asked, made):
    # Linux: PR_SET_PDEATHSIG, SIGKILL. A killed trainer leaves none behind.
    ctypes.CDLL(None).prctl(1, 9)
    torch.set_num_threads(1)
    generator = generator()
    while True:
        ticket, *what = asked.get()
        torch.manual_seed(seed * 2**32 + ticket)  # the same clips, whoever makes them
        made.put((ticket, packed(generator(*what))))


class Feeder:
    """generator: a function that gives what makes clips on the CPU, such as a data.Generator; called once in every process."""

    def __init__(self, generator, workers, seed):
        spawn = torch.multiprocessing.get_context("spawn")
        self.asked, self.made, self.kept = spawn.Queue(), spawn.Queue(), {}
        self.workers = [
            spawn.Process(target=make, args=(generator, seed, self.asked, self.made), daemon=True) for _ in range(workers)
        ]
        for worker in self.workers:
            worker.start()

    def ask(self, ticket, *what):
        """what: arguments of the generator, a number of clips and of frames first."""
        self.asked.put((ticket, *what))

    def take(self, ticket, device):
        """The clips asked for under `ticket`; waits for them."""
        while ticket not in self.kept:
            try:
                number, parts = self.made.get(timeout=5)
                self.kept[number] = parts
            except queue.Empty:
                dead = [w for w in self.workers if not w.is_alive()]
                if dead:
                    raise FeederError(f"a process that makes clips ended (exit status {dead[0].exitcode})") from None
        return unpacked(self.kept.pop(ticket), device)
