# SPDX-License-Identifier: Apache-2.0
"""ZeRO-2 by hand: matrices lie in flat buckets, of which each rank keeps a shard and its optimizer's state; the
gradients of each micro-batch are reduced and scattered, and let go. Vectors are on all ranks, their gradients are
summed at the end. Matrices decay, vectors do not. Clipping by the norm of all gradients, then shards are gathered.
Bugs:
last_micro: each micro-batch puts its gradients in the place of those before.
    https://github.com/allenai/open-instruct/pull/1498
decay_lost: groups are made by the number of dimensions, and a shard has one: nothing decays.
    https://github.com/pytorch/pytorch/issues/101343
    https://github.com/verl-project/verl/pull/7215
norm_again: squares of gradients that are whole on each rank are summed over the ranks, too.
    https://github.com/modelscope/twinkle/pull/290"""
import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

VOCABULARY, WIDTH, HIDDEN, BATCH, LENGTH, LAYERS, MICRO = 25, 10, 16, 24, 7, 2, 2
DECAY, MOST, CAPACITY = 0.3, 0.15, 500


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, WIDTH)

    def forward(self, x):
        before = F.pad(x, (0, 0, 1, 0))[:, :-1]
        return x + self.down(torch.tanh(self.up(self.norm(x + before))))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY)

    def forward(self, ids):
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class Bucket:
    """Matrices, flat and padded to a multiple of the ranks; shard is the part of this rank."""
    def __init__(self, params, rank, size):
        self.params, self.rank, self.size = params, rank, size
        self.numel = sum(p.numel() for p in params)
        self.padding = -self.numel % size
        self.shard = nn.Parameter(self.flat([p.detach() for p in params]).chunk(size)[rank].clone())
        self.shard.grad = torch.zeros_like(self.shard)

    def flat(self, tensors):
        return F.pad(torch.cat([t.reshape(-1) for t in tensors]), (0, self.padding))

    def reduce(self, bug):
        grads = self.flat([p.grad for p in self.params])
        mine = torch.empty_like(self.shard)
        dist.reduce_scatter_tensor(mine, grads)
        if bug == "last_micro":
            self.shard.grad.copy_(mine)  # place last_micro
        else:
            self.shard.grad += mine  # place last_micro
        for p in self.params:
            p.grad = None

    @torch.no_grad()
    def gather(self):
        whole = torch.empty(self.numel + self.padding)
        dist.all_gather_into_tensor(whole, self.shard.detach())
        for p, piece in zip(self.params, whole[:self.numel].split([p.numel() for p in self.params])):
            p.copy_(piece.view_as(p))


class Sharded:
    """What steps: shards of the buckets, and the vectors as they are."""
    def __init__(self, model, dp, bug):
        rank = dist.get_rank() if dp > 1 else 0
        self.bug, self.dp = bug, dp
        matrices = [p for p in model.parameters() if p.ndim > 1]
        self.vectors = [p for p in model.parameters() if p.ndim < 2]
        self.buckets, matrices_of = [], [[]]
        for p in matrices:
            if sum(m.numel() for m in matrices_of[-1]) + p.numel() > CAPACITY:
                matrices_of.append([])
            matrices_of[-1].append(p)
        if dp > 1:
            self.buckets = [Bucket(params, rank, dp) for params in matrices_of]
            matrices = [bucket.shard for bucket in self.buckets]
        self.matrices = matrices
        decays, stays = matrices, self.vectors
        if dp > 1 and bug == "decay_lost":
            decays, stays = [], []
            for p in matrices + self.vectors:
                (decays if p.ndim > 1 else stays).append(p)  # place decay_lost
        groups = [{"params": decays, "weight_decay": DECAY}, {"params": stays, "weight_decay": 0.0}]
        groups = [group for group in groups if group["params"]]  # place decay_lost
        self.optimizer = torch.optim.AdamW(groups, lr=0.02, eps=1e-3)  # place decay_lost

    def zero_grad(self):
        for p in self.vectors:
            p.grad = None
        for p in self.matrices:
            p.grad = torch.zeros_like(p)

    def reduce(self):
        for bucket in self.buckets:
            bucket.reduce(self.bug)

    def step(self):
        if self.dp > 1:
            for p in self.vectors:
                dist.all_reduce(p.grad)
        shards = torch.stack([p.grad.pow(2).sum() for p in self.matrices]).sum()
        whole = torch.stack([p.grad.pow(2).sum() for p in self.vectors]).sum()
        if self.dp > 1 and self.bug == "norm_again":
            shards = shards + whole  # place norm_again
            whole = torch.zeros(())
        if self.dp > 1:
            dist.all_reduce(shards)  # place norm_again
        factor = (MOST / ((shards + whole).sqrt() + 1e-6)).clamp(max=1.0)
        for p in self.matrices + self.vectors:
            p.grad *= factor
        self.optimizer.step()
        for bucket in self.buckets:
            bucket.gather()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dp", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--bug", default="")
    args = parser.parse_args()
    rank = 0
    if args.dp > 1:
        dist.init_process_group("gloo")
        rank = dist.get_rank()
    torch.manual_seed(14)
    model = Model()
    trainer = Sharded(model, args.dp, args.bug)
    data = torch.Generator().manual_seed(41)
    for _ in range(args.steps):
        text = torch.randint(VOCABULARY, (BATCH, LENGTH + 1), generator=data).chunk(args.dp)[rank]
        trainer.zero_grad()
        for part in text.chunk(MICRO):
            loss = F.cross_entropy(model(part[:, :-1]).flatten(0, 1), part[:, 1:].flatten())
            (loss / (MICRO * args.dp)).backward()
            trainer.reduce()
        trainer.step()
    return model


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
