# SPDX-License-Identifier: Apache-2.0
"""A small speech recogniser under DistributedDataParallel: frames of a recording are labelled, a step accumulates the
gradients of four micro-batches, and only the last backward is to synchronise. Recordings are padded to one length; the
loss is the mean over the labelled frames of all micro-batches on all ranks. Bugs:
sync_first: the counter of micro-batches starts at 0, so the first one synchronises, and the last does not.
    https://github.com/modelscope/FunASR/pull/3472
count_own: labelled frames are counted over the micro-batches of the rank alone, ranks are averaged.
    https://github.com/huggingface/transformers/issues/34242
bypassed: the loss unwraps the model and calls what is within, so the wrapper does not prepare its reduction.
    https://github.com/modelscope/ms-swift/pull/10165"""
import argparse
import contextlib

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel

FEATURES, FRAMES, WIDTH, HEADS, HIDDEN, UNITS, LAYERS, MICRO, BATCH, IGNORED = 7, 11, 12, 3, 26, 19, 2, 4, 6, -100


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, WIDTH)

    def forward(self, x, heard):
        batch, length, _ = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=heard[:, None, None, :])
        x = x + self.proj(y.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.down(F.silu(self.up(self.norm2(x))))


class Recogniser(nn.Module):
    def __init__(self):
        super().__init__()
        self.front = nn.Linear(FEATURES, WIDTH)
        self.places = nn.Parameter(torch.randn(FRAMES, WIDTH) / 2)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, UNITS)

    def forward(self, frames, lengths, labels):
        """The sum of the losses of the labelled frames."""
        heard = torch.arange(FRAMES) < lengths.unsqueeze(-1)
        x = self.front(frames) + self.places
        for layer in self.layers:
            x = layer(x, heard)
        logits = self.head(self.norm(x))
        return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORED, reduction="sum")


def recordings(generator):
    """Frames, their numbers, and labels; some frames have none."""
    frames = torch.randint(-16, 17, (BATCH, FRAMES, FEATURES), generator=generator) / 8
    lengths = torch.randint(4, FRAMES + 1, (BATCH,), generator=generator)
    labels = torch.randint(UNITS, (BATCH, FRAMES), generator=generator)
    labels[torch.rand(BATCH, FRAMES, generator=generator) < 0.2] = IGNORED
    labels[torch.arange(FRAMES) >= lengths.unsqueeze(-1)] = IGNORED
    return frames.to(torch.get_default_dtype()), lengths, labels


class Trainer:
    def __init__(self, args):
        self.bug, self.world = args.bug, args.dp
        self.rank = dist.get_rank() if args.dp > 1 else 0
        self.model = Recogniser()
        if args.dp > 1:
            self.model = DistributedDataParallel(self.model)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=0.01, eps=1e-3, weight_decay=0.1)

    def window(self, generator):
        """The micro-batches of one step: of each the rows of this rank."""
        rows = torch.arange(BATCH).chunk(self.world)[self.rank]
        return [[t[rows] for t in recordings(generator)] for _ in range(MICRO)]

    def no_sync(self, index):
        boundary = index if self.bug == "sync_first" else index + 1  # place sync_first
        if self.world > 1 and boundary % MICRO:  # place sync_first
            return self.model.no_sync()
        return contextlib.nullcontext()

    def loss(self, frames, lengths, labels):
        net = self.model
        if self.bug == "bypassed":
            net = self.model.module  # place bypassed
        return net(frames, lengths, labels)  # place bypassed

    def step(self, window):
        labelled, copies = sum((labels != IGNORED).sum() for _, _, labels in window), 1
        if self.world > 1 and self.bug != "count_own":  # place count_own
            dist.all_reduce(labelled)  # place count_own
            copies = self.world
        self.optimizer.zero_grad()
        for index, batch in enumerate(window):
            with self.no_sync(index):
                loss = self.loss(*batch)
                (loss * copies / labelled).backward()  # place count_own
        self.optimizer.step()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dp", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--bug", default="")
    args = parser.parse_args()
    if args.dp > 1:
        dist.init_process_group("gloo")
    torch.manual_seed(71)
    trainer = Trainer(args)
    data = torch.Generator().manual_seed(17)
    for _ in range(args.steps):
        trainer.step(trainer.window(data))
    return trainer.model


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
