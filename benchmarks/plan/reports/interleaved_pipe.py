# SPDX-License-Identifier: Apache-2.0
"""A pipeline of four stages on two ranks, each of which has two that are not neighbours; a step accumulates two runs
of the schedule, of three micro-batches each. Clipping by the norm of all stages. Bugs:
scale_each: gradients are divided by the micro-batches after each run, those of the first run twice.
    https://github.com/pytorch/torchtitan/issues/1733
wiped: a run makes its stages anew, and drops the gradients of the run before.
    https://github.com/NVIDIA-NeMo/Automodel/pull/3530
own_norm: each rank clips by the norm of its own stages.
    https://github.com/pytorch/torchtitan/issues/596"""
import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

VOCABULARY, WIDTH, HIDDEN, STAGES, RUNS, MICRO, BATCH, LENGTH = 24, 9, 14, 4, 2, 3, 12, 5


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, WIDTH)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


class Part(nn.Module):
    """The stages of one rank: every pp-th."""
    def __init__(self, rank, pp):
        super().__init__()
        embed, blocks = nn.Embedding(VOCABULARY, WIDTH), [Block() for _ in range(STAGES)]
        norm, head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY)
        self.blocks = nn.ModuleDict({str(i): blocks[i] for i in range(rank, STAGES, pp)})
        if rank == 0:
            self.embed = embed
        if rank == pp - 1:
            self.norm, self.head = norm, head

    def stage(self, i, x):
        x = self.blocks[str(i)](self.embed(x) if i == 0 else x)
        return self.head(self.norm(x)) if i == STAGES - 1 else x


def run(part, text, tokens, pp, rank, bug):
    """All forwards of a run, then all backwards."""
    if bug == "wiped":
        part.zero_grad()  # place wiped
    kept = []
    for micro in text.chunk(MICRO):
        for i in range(rank, STAGES, pp):
            if i == 0:
                x = micro[:, :-1]
            else:
                x = torch.empty(micro.size(0), LENGTH, WIDTH)
                dist.recv(x, (i - 1) % pp)
                x.requires_grad_()
            y = part.stage(i, x)
            if i == STAGES - 1:
                y = F.cross_entropy(y.flatten(0, 1), micro[:, 1:].flatten(), reduction="sum")
                y = y * (MICRO if bug == "scale_each" else 1) / tokens
            else:
                dist.send(y.detach(), (i + 1) % pp)
            kept.append((i, x, y))
    for i, x, y in reversed(kept):
        if i == STAGES - 1:
            y.backward()
        else:
            grad = torch.empty_like(y)
            dist.recv(grad, (i + 1) % pp)
            y.backward(grad)
        if i > 0:
            dist.send(x.grad, (i - 1) % pp)
    if bug == "scale_each":
        for p in part.parameters():
            p.grad /= MICRO  # place scale_each


def clip(part, most, pp, bug):
    total = torch.zeros(())
    for p in part.parameters():
        total = total + p.grad.pow(2).sum()
    if pp > 1 and bug != "own_norm":
        dist.all_reduce(total)  # place own_norm
    factor = (most / (total.sqrt() + 1e-6)).clamp(max=1.0)  # place own_norm
    for p in part.parameters():
        p.grad.mul_(factor)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pp", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--bug", default="")
    args = parser.parse_args()
    rank = 0
    if args.pp > 1:
        dist.init_process_group("gloo")
        rank = dist.get_rank()
    torch.manual_seed(21)
    part = Part(rank, args.pp)
    optimizer = torch.optim.SGD(part.parameters(), lr=0.2, momentum=0.9)
    data = torch.Generator().manual_seed(4)
    tokens = BATCH * LENGTH
    for _ in range(args.steps):
        text = torch.randint(VOCABULARY, (BATCH, LENGTH + 1), generator=data)
        optimizer.zero_grad()
        for piece in text.chunk(RUNS):
            if args.pp > 1:
                run(part, piece, tokens, args.pp, rank, args.bug)
            else:
                x = piece[:, :-1]
                for i in range(STAGES):
                    x = part.stage(i, x)
                (F.cross_entropy(x.flatten(0, 1), piece[:, 1:].flatten(), reduction="sum") / tokens).backward()
        clip(part, 0.2, args.pp, args.bug)
        optimizer.step()
    return part


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
