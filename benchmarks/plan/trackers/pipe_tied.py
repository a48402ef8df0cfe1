# SPDX-License-Identifier: Apache-2.0
"""A pipeline by hand (all forwards, then all backwards) whose first and last stage both hold the embedding: the last
one uses it as the output layer. Data parallelism beside it, clipping by the norm of all gradients. Bugs: tied_mean
(piper #13 and #25, gradients of tied embeddings on two stages: they are to be added; here the mean is taken),
wrong_pair (piper #25, groups for each tied weight, and TensorRT-LLM #17001, peers of groups that do not start at rank
0: the group for the tied weight is made of the first and the last rank of the job, not of each pipeline), counted_twice
(Megatron-LM #2263: the norm to clip by counts the tied weight on both stages)."""
import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh

VOCABULARY, WIDTH, HIDDEN, BATCH, LENGTH, LAYERS, MICRO = 20, 9, 16, 8, 6, 4, 2


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, WIDTH)

    def forward(self, x):
        return x + self.down(torch.tanh(self.up(self.norm(x))))


class Stage(nn.Module):
    """Some layers of the model; with one stage, all of it."""
    def __init__(self, stage, stages):
        super().__init__()
        self.first, self.last = stage == 0, stage == stages - 1
        embed, place = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
        blocks, norm = [Block() for _ in range(LAYERS)], nn.LayerNorm(WIDTH)
        each = LAYERS // stages
        if self.first or self.last:
            self.embed = embed
        if self.first:
            self.place = place
        self.blocks = nn.ModuleDict({str(i): blocks[i] for i in range(stage * each, (stage + 1) * each)})
        if self.last:
            self.norm = norm

    def forward(self, x):
        if self.first:
            x = self.embed(x) + self.place.weight
        for block in self.blocks.values():
            x = block(x)
        return F.linear(self.norm(x), self.embed.weight) if self.last else x


def loss_of(logits, labels):
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten()) / MICRO


def pipeline(stage, text, before, after):
    parts = text.chunk(MICRO)
    inputs, outputs = [], []
    for part in parts:
        if stage.first:
            x = part[:, :-1]
        else:
            x = torch.empty(part.size(0), LENGTH, WIDTH)
            dist.recv(x, before)
            x.requires_grad_()
        y = stage(x)
        if stage.last:
            y = loss_of(y, part[:, 1:])
        else:
            dist.send(y.detach(), after)
        inputs.append(x)
        outputs.append(y)
    for x, y in zip(inputs, outputs):
        if stage.last:
            y.backward()
        else:
            grad = torch.empty_like(y)
            dist.recv(grad, after)
            y.backward(grad)
        if not stage.first:
            dist.send(x.grad, before)


def clip(stage, most, pp, bug):
    total = torch.zeros(())
    for name, p in stage.named_parameters():
        again = pp is not None and name == "embed.weight" and not stage.first
        if not again or bug == "counted_twice":  # place counted_twice
            total = total + p.grad.pow(2).sum()  # place counted_twice
    if pp:
        dist.all_reduce(total, group=pp)
    factor = (most / (total.sqrt() + 1e-6)).clamp(max=1.0)
    for p in stage.parameters():
        p.grad.mul_(factor)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dp", type=int, default=1)
    parser.add_argument("--pp", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--bug", default="")
    args = parser.parse_args()
    dp = pp = tied = None
    rank = index = 0
    if args.dp * args.pp > 1:
        dist.init_process_group("gloo")
        mesh = init_device_mesh("cpu", (args.dp, args.pp), mesh_dim_names=("dp", "pp"))
        dp, pp = mesh.get_group("dp"), mesh.get_group("pp")
        rank, index = mesh.get_local_rank("pp"), mesh.get_local_rank("dp")
        world = dist.get_world_size()
        pairs = [[i * args.pp, (i + 1) * args.pp - 1] for i in range(args.dp)]
        if args.bug == "wrong_pair":
            pairs = [[0, world - 1]]  # place wrong_pair
        for pair in pairs:
            group = dist.new_group(pair)
            if dist.get_rank() in pair:
                tied = group
    torch.manual_seed(31)
    stage = Stage(rank, args.pp)
    optimizer = torch.optim.AdamW(stage.parameters(), lr=0.01, eps=1e-4)
    data = torch.Generator().manual_seed(2)
    for _ in range(args.steps):
        text = torch.randint(VOCABULARY, (BATCH, LENGTH + 1), generator=data).chunk(args.dp)[index]
        optimizer.zero_grad()
        if pp:
            pipeline(stage, text, dist.get_rank() - 1, dist.get_rank() + 1)
            if tied is not None and args.pp > 1:
                dist.all_reduce(stage.embed.weight.grad, group=tied)  # place wrong_pair
                if args.bug == "tied_mean":
                    stage.embed.weight.grad /= args.pp  # place tied_mean
            for p in stage.parameters():
                dist.all_reduce(p.grad, group=dp)
                p.grad /= args.dp
        else:
            for part in text.chunk(MICRO):
                loss_of(stage(part[:, :-1]), part[:, 1:]).backward()
        clip(stage, 0.4, pp, args.bug)
        optimizer.step()
    return stage


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
