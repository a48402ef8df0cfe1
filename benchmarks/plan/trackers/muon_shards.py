# SPDX-License-Identifier: Apache-2.0
"""Two optimizers: Muon for the matrices of the hidden layers, which are split over tp, AdamW for the rest. Muon gathers
the momentum of a split matrix, makes the whole one orthogonal, and takes its part. Data parallelism by hand. Bugs:
shard_orthogonal (DeepSpeed #8437: the shard is made orthogonal, not the matrix), shard_scale (TransformerEngine #2920,
scale modes of Muon: the factor for the shape is taken from the shard's shape), adam_only (gradients of one of the two
optimizers' groups are not reduced over dp, after torchtitan #2494, a mixed container of optimizers)."""
import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh

VOCABULARY, WIDTH, HIDDEN, BATCH, LENGTH, LAYERS = 17, 10, 24, 6, 5, 2


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


def orthogonal(g, steps=2):
    """Newton-Schulz iterations."""
    x = g.T if g.size(0) > g.size(1) else g
    x = x / (x.norm() + 1e-7)
    for _ in range(steps):
        a = x @ x.T
        x = 3.4445 * x + (-4.775 * a + 2.0315 * a @ a) @ x
    return x.T if g.size(0) > g.size(1) else x


class Muon(torch.optim.Optimizer):
    def __init__(self, params, lr=0.02, momentum=0.95, tp=None, bug=""):
        super().__init__(params, {"lr": lr, "momentum": momentum})
        self.tp, self.bug = tp, bug

    def whole(self, m, dim):
        pieces = [torch.empty_like(m) for _ in range(dist.get_world_size(self.tp))]
        dist.all_gather(pieces, m.contiguous(), group=self.tp)
        return torch.cat(pieces, dim)

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                if not state:
                    state["momentum_buffer"] = torch.zeros_like(p)
                m = state["momentum_buffer"]
                m.mul_(group["momentum"]).add_(p.grad)
                g = p.grad + group["momentum"] * m
                if self.tp is None:
                    shape, update = p.shape, orthogonal(g)
                elif self.bug == "shard_orthogonal":
                    shape = self.whole(g, p.split_dim).shape
                    update = orthogonal(g)  # place shard_orthogonal
                else:
                    full = self.whole(g, p.split_dim)
                    shape = p.shape if self.bug == "shard_scale" else full.shape  # place shard_scale
                    update = orthogonal(full)
                    update = update.chunk(dist.get_world_size(self.tp), p.split_dim)[dist.get_rank(self.tp)]
                scale = max(1.0, shape[0] / shape[1]) ** 0.5  # place shard_scale
                p.add_(update, alpha=-group["lr"] * scale)  # place shard_scale


class Block(nn.Module):
    def __init__(self, tp):
        super().__init__()
        self.tp = tp
        rank, size = (dist.get_rank(tp), dist.get_world_size(tp)) if tp else (0, 1)
        self.norm = nn.RMSNorm(WIDTH)
        self.up = nn.Parameter((torch.randn(HIDDEN, WIDTH) / 3).chunk(size)[rank].clone())
        self.down = nn.Parameter((torch.randn(WIDTH, HIDDEN) / 5).chunk(size, 1)[rank].clone())
        self.up.split_dim, self.down.split_dim = 0, 1

    def forward(self, x):
        h = self.norm(x)
        if self.tp:
            h = Copy.apply(h, self.tp)
        h = F.linear(F.relu(F.linear(h, self.up)).square(), self.down)
        return x + (Reduce.apply(h, self.tp) if self.tp else h)


class Model(nn.Module):
    def __init__(self, tp):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.ModuleList(Block(tp) for _ in range(LAYERS))
        self.norm, self.head = nn.RMSNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, ids):
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dp", type=int, default=1)
    parser.add_argument("--tp", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--bug", default="")
    args = parser.parse_args()
    dp = tp = None
    index = 0
    if args.dp * args.tp > 1:
        dist.init_process_group("gloo")
        mesh = init_device_mesh("cpu", (args.dp, args.tp), mesh_dim_names=("dp", "tp"))
        dp, tp, index = mesh.get_group("dp"), mesh.get_group("tp"), mesh.get_local_rank("dp")
    torch.manual_seed(61)
    model = Model(tp)
    matrices = [p for n, p in model.named_parameters() if n.endswith((".up", ".down"))]
    others = [p for n, p in model.named_parameters() if not n.endswith((".up", ".down"))]
    optimizers = [Muon(matrices, tp=tp, bug=args.bug), torch.optim.AdamW(others, lr=0.01, eps=1e-4)]
    data = torch.Generator().manual_seed(19)
    for _ in range(args.steps):
        text = torch.randint(VOCABULARY, (BATCH, LENGTH + 1), generator=data).chunk(args.dp)[index]
        for optimizer in optimizers:
            optimizer.zero_grad()
        F.cross_entropy(model(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten()).backward()
        if dp:
            reduced = optimizers[1:] if args.bug == "adam_only" else optimizers  # place adam_only
            for optimizer in reduced:
                for p in optimizer.param_groups[0]["params"]:
                    dist.all_reduce(p.grad, group=dp)  # place adam_only
                    p.grad /= args.dp
        for optimizer in optimizers:
            optimizer.step()
    return model


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
