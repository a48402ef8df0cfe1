# SPDX-License-Identifier: Apache-2.0
"""A pipeline of three stages by hand, one forward and one backward in turn. The last stage has a copy of the embedding
as its head; gradients of the copies are summed. A step accumulates two windows of micro-batches, each of sequences of
another length, so stages make their receive buffers anew between them. Gradients are clipped over all stages.
Bugs:
grads_reset: what makes the buffers anew drops the gradients, too, so those of the first window are lost.
    https://github.com/NVIDIA-NeMo/Automodel/pull/3530
scaled_each: gradients are divided by the number of micro-batches after each window, those of the first one twice.
    https://github.com/pytorch/torchtitan/pull/1732
tied_counted: both copies of the embedding are part of the norm.
    https://github.com/NVIDIA/Megatron-LM/pull/7228"""
import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

VOCABULARY, WIDTH, HEADS, SIZE, HIDDEN, LAYERS, MICRO, ROWS, LENGTHS, LIMIT = 31, 8, 3, 4, 22, 5, 4, 2, (9, 6), 0.25


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * HEADS * SIZE), nn.Linear(HEADS * SIZE, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, WIDTH)

    def forward(self, x):
        q, k, v = self.qkv(self.norm1(x)).unflatten(-1, (3, HEADS, SIZE)).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Stage(nn.Module):
    """The layers of one rank, with the names that they have in the whole model."""
    def __init__(self, rank, size, bug):
        super().__init__()
        self.rank, self.size, self.bug = rank, size, bug
        self.first, self.last = rank == 0, rank == size - 1
        embed, places = nn.Embedding(VOCABULARY, WIDTH), nn.Parameter(torch.randn(max(LENGTHS), WIDTH) / 2)
        blocks, norm = [Block() for _ in range(LAYERS)], nn.LayerNorm(WIDTH)
        if self.first or self.last:
            self.embed = embed
        if self.first:
            self.places = places
        owned = torch.arange(LAYERS).tensor_split(size)[rank].tolist()
        self.blocks = nn.ModuleDict({str(i): blocks[i] for i in owned})
        if self.last:
            self.norm = norm
        self.shape = None

    def reset_shapes(self, length):
        """Another window has sequences of another length: what is received has another shape."""
        self.shape = (ROWS, length, WIDTH)
        if self.bug == "grads_reset":
            for p in self.parameters():
                p.grad = None  # place grads_reset

    def forward(self, x):
        if self.first:
            x = self.embed(x) + self.places[:x.size(1)]
        for block in self.blocks.values():
            x = block(x)
        return F.linear(self.norm(x), self.embed.weight) if self.last else x


class Pipeline:
    def __init__(self, stage):
        self.stage, self.sends = stage, []

    def send(self, x, to):
        x = x.detach().contiguous()
        self.sends.append((dist.isend(x, to), x))

    def receive(self, source):
        x = torch.empty(self.stage.shape)
        dist.recv(x, source)
        return x

    def forward(self, text):
        """The input of the stage and its output, or the loss of the micro-batch."""
        stage = self.stage
        x = text[:, :-1] if stage.first else self.receive(stage.rank - 1).requires_grad_()
        y = stage(x)
        if stage.last:
            shares = len(LENGTHS) if stage.bug == "scaled_each" else len(LENGTHS) * MICRO  # place scaled_each
            y = F.cross_entropy(y.flatten(0, 1), text[:, 1:].flatten()) / shares
        else:
            self.send(y, stage.rank + 1)
        return x, y

    def backward(self, x, y):
        stage = self.stage
        if stage.last:
            y.backward()
        else:
            y.backward(self.receive(stage.rank + 1))
        if not stage.first:
            self.send(x.grad, stage.rank - 1)

    def run(self, window):
        stage, waiting = self.stage, []
        stage.reset_shapes(window[0].size(1) - 1)
        warmup = min(stage.size - 1 - stage.rank, len(window))
        for index, text in enumerate(window):
            waiting.append(self.forward(text))
            if index >= warmup:
                self.backward(*waiting.pop(0))
        while waiting:
            self.backward(*waiting.pop(0))
        for work, _ in self.sends:
            work.wait()
        self.sends.clear()
        if stage.bug == "scaled_each":
            for p in stage.parameters():
                p.grad.div_(len(window))  # place scaled_each


def clip(stage):
    """Scales the gradients of all stages to a norm of at most LIMIT."""
    total = torch.zeros(())
    for name, p in stage.named_parameters():
        copy = name == "embed.weight" and not stage.first
        if not copy or stage.bug == "tied_counted":  # place tied_counted
            total = total + p.grad.square().sum()  # place tied_counted
    if stage.size > 1:
        dist.all_reduce(total)  # place tied_counted
    factor = (LIMIT / (total.sqrt() + 1e-6)).clamp(max=1.0)
    for p in stage.parameters():
        p.grad.mul_(factor)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pp", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--bug", default="")
    args = parser.parse_args()
    rank, ends = 0, None
    if args.pp > 1:
        dist.init_process_group("gloo")
        rank, ends = dist.get_rank(), dist.new_group([0, args.pp - 1])
    torch.manual_seed(57)
    stage = Stage(rank, args.pp, args.bug)
    pipeline = Pipeline(stage)
    optimizer = torch.optim.AdamW(stage.parameters(), lr=0.01, eps=1e-3)
    data = torch.Generator().manual_seed(75)
    for _ in range(args.steps):
        optimizer.zero_grad()
        for length in LENGTHS:
            pipeline.run([torch.randint(VOCABULARY, (ROWS, length + 1), generator=data) for _ in range(MICRO)])
        if args.pp > 1 and (stage.first or stage.last):
            dist.all_reduce(stage.embed.weight.grad, group=ends)
        clip(stage)
        optimizer.step()
    return stage


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
