# SPDX-License-Identifier: Apache-2.0
"""Optimizer states are divided over data parallelism by whole parameters: each has one owner, to which its gradient is
reduced, which updates it and broadcasts it. Two micro-batches; an MLP split over tp; clipping by the norm of all
gradients. Bugs: duplicates (Megatron-LM #2263, the scope of the gradient norm: parameters that are whole on each tp
rank are counted on each), scaled_again (Megatron-LM #3023: what has been accumulated is divided once more with each
micro-batch), missed_owner (DeepSpeed #5294, gradients that are reduced while they are still written: here those of the
last bucket are not reduced at all)."""
import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh

VOCABULARY, WIDTH, HIDDEN, BATCH, LENGTH, LAYERS, MICRO = 21, 10, 16, 8, 5, 2, 2


class Copy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.clone()
        dist.all_reduce(grad, group=ctx.group)
        return grad, None


class Reduce(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group):
        x = x.clone()
        dist.all_reduce(x, group=group)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad, None


class Block(nn.Module):
    def __init__(self, tp):
        super().__init__()
        self.tp = tp
        rank, size = (dist.get_rank(tp), dist.get_world_size(tp)) if tp else (0, 1)
        self.norm = nn.LayerNorm(WIDTH)
        self.up = nn.Parameter((torch.randn(HIDDEN, WIDTH) / 3).chunk(size)[rank].clone())
        self.down = nn.Parameter((torch.randn(WIDTH, HIDDEN) / 4).chunk(size, 1)[rank].clone())
        self.up.over_tp = self.down.over_tp = True

    def forward(self, x):
        h = self.norm(x)
        if self.tp:
            h = Copy.apply(h, self.tp)
        h = F.linear(F.gelu(F.linear(h, self.up)), self.down)
        return x + (Reduce.apply(h, self.tp) if self.tp else h)


class Model(nn.Module):
    def __init__(self, tp):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.ModuleList(Block(tp) for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, ids):
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


class Owners:
    def __init__(self, parameters, dp, tp, bug):
        self.parameters, self.dp, self.tp, self.bug = list(parameters), dp, tp, bug
        self.size, self.rank = (dist.get_world_size(dp), dist.get_rank(dp)) if dp else (1, 0)
        load = [0] * self.size
        self.owner = {}
        for p in sorted(self.parameters, key=lambda p: -p.numel()):
            least = load.index(min(load))
            self.owner[p] = least
            load[least] += p.numel()
        self.mine = [p for p in self.parameters if self.owner[p] == self.rank]
        self.optimizer = torch.optim.AdamW(self.mine, lr=0.01, eps=1e-4)

    def reduce(self):
        if not self.dp:
            return
        ready = self.parameters[:-1] if self.bug == "missed_owner" else self.parameters  # place missed_owner
        for p in ready:  # place missed_owner
            p.grad /= self.size
            dist.all_reduce(p.grad, group=self.dp)

    def clip(self, most):
        total = torch.zeros(())
        for p in self.mine:
            over_tp = getattr(p, "over_tp", False)
            if not self.tp or over_tp or dist.get_rank(self.tp) == 0 or self.bug == "duplicates":  # place duplicates
                total = total + p.grad.pow(2).sum()
        if self.dp:
            dist.all_reduce(total)  # place duplicates
        factor = (most / (total.sqrt() + 1e-6)).clamp(max=1.0)
        for p in self.mine:
            p.grad.mul_(factor)

    def step(self):
        self.optimizer.step()
        if self.dp:
            for p in self.parameters:
                dist.broadcast(p.data, dist.get_global_rank(self.dp, self.owner[p]), group=self.dp)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dp", type=int, default=1)
    parser.add_argument("--tp", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--bug", default="")
    args = parser.parse_args()
    dp = tp = None
    rank = 0
    if args.dp * args.tp > 1:
        dist.init_process_group("gloo")
        mesh = init_device_mesh("cpu", (args.dp, args.tp), mesh_dim_names=("dp", "tp"))
        dp, tp = mesh.get_group("dp"), mesh.get_group("tp")
        rank = dist.get_rank(dp)
    torch.manual_seed(13)
    model = Model(tp)
    owners = Owners(model.parameters(), dp, tp, args.bug)
    data = torch.Generator().manual_seed(5)
    for _ in range(args.steps):
        text = torch.randint(VOCABULARY, (BATCH, LENGTH + 1), generator=data).chunk(args.dp)[rank]
        model.zero_grad()
        for part in text.chunk(MICRO):
            loss = F.cross_entropy(model(part[:, :-1]).flatten(0, 1), part[:, 1:].flatten())
            if args.bug == "scaled_again":
                loss.backward()
                for p in model.parameters():
                    p.grad /= MICRO  # place scaled_again
            else:
                (loss / MICRO).backward()
        owners.reduce()
        owners.clip(0.5)
        owners.step()
    return model


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
