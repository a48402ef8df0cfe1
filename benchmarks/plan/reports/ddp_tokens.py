# SPDX-License-Identifier: Apache-2.0
"""DistributedDataParallel with three micro-batches, of which the first two are under no_sync. The loss is the mean over
the tokens of all micro-batches and ranks; a temperature divides the logits. Bugs:
own_items: tokens are counted over the micro-batches of the rank, and gradients of ranks are averaged.
    https://github.com/huggingface/transformers/issues/34242
world_unscaled: tokens are counted over all ranks, and the average over ranks is not undone.
    https://github.com/meta-pytorch/torchtune/pull/2172
counted_again: the running count of tokens is summed over the ranks with each micro-batch, what was summed before, too.
    https://github.com/meta-pytorch/torchtune/pull/1917
outside: the temperature is no parameter of the module that is wrapped, nothing sums its gradient.
    https://github.com/openai/CLIP/issues/111"""
import argparse
import contextlib

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel

VOCABULARY, WIDTH, HIDDEN, BATCH, LENGTH, LAYERS, MICRO = 20, 8, 13, 18, 7, 2, 3


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, WIDTH)

    def forward(self, x):
        return x + self.down(F.silu(self.up(self.norm(x))))


class Body(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, ids):
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.temperature = Body(), nn.Parameter(torch.tensor(1.3))

    def forward(self, ids):
        return self.body(ids) / self.temperature  # place outside


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dp", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--bug", default="")
    args = parser.parse_args()
    dp, rank = args.dp > 1, 0
    if dp:
        dist.init_process_group("gloo")
        rank = dist.get_rank()
    torch.manual_seed(77)
    model = Model()
    wrapped = model
    if dp and args.bug == "outside":
        model.body = wrapped = DistributedDataParallel(model.body)  # place outside
    elif dp:
        model = wrapped = DistributedDataParallel(model)  # place outside
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, eps=1e-4)
    data = torch.Generator().manual_seed(64)
    for _ in range(args.steps):
        text = torch.randint(VOCABULARY, (BATCH, LENGTH + 1), generator=data)
        for row, cut in enumerate(torch.randint(3, LENGTH + 2, (BATCH,), generator=data).tolist()):
            text[row, cut:] = -100
        parts = text.chunk(args.dp)[rank].chunk(MICRO)
        total = torch.zeros((), dtype=torch.int64)
        for part in parts:
            total += (part[:, 1:] != -100).sum()
            if dp and args.bug == "counted_again":
                dist.all_reduce(total)  # place counted_again
        if dp and args.bug not in ("own_items", "counted_again"):
            dist.all_reduce(total)  # place own_items
        scale = 1 if args.bug in ("own_items", "world_unscaled") else args.dp
        optimizer.zero_grad()
        for i, part in enumerate(parts):
            with wrapped.no_sync() if dp and i < MICRO - 1 else contextlib.nullcontext():
                logits = model(part[:, :-1].clamp(min=0))
                loss = F.cross_entropy(logits.flatten(0, 1), part[:, 1:].flatten(), reduction="sum")
                (loss * scale / total).backward()  # place own_items world_unscaled
        optimizer.step()
    return model


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
