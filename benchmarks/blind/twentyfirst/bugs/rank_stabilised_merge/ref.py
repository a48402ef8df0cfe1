"""Two stages of low-rank adapters: the first is merged into the frozen weights, the second is trained on top of it."""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

FEATURES, CLASSES = 20, 6


class LoraLinear(nn.Module):
    """A frozen layer and a low-rank update; with rank_stabilised the update is scaled by alpha / sqrt(rank)."""

    def __init__(self, base, rank=16, alpha=16, rank_stabilised=True):
        super().__init__()
        self.base = base
        self.rank, self.alpha, self.rank_stabilised = rank, alpha, rank_stabilised
        self.lora_a = nn.Parameter(torch.randn(rank, base.in_features) / math.sqrt(base.in_features))
        self.lora_b = nn.Parameter(torch.zeros(base.out_features, rank))

    @property
    def scaling(self):
        return self.alpha / math.sqrt(self.rank) if self.rank_stabilised else self.alpha / self.rank

    def forward(self, x):
        return self.base(x) + self.scaling * (x @ self.lora_a.T @ self.lora_b.T)

    @torch.no_grad()
    def merge(self):
        delta = self.lora_b @ self.lora_a
        self.base.weight += self.scaling * delta
        return self.base


def plain_network():
    return nn.Sequential(nn.Linear(FEATURES, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, CLASSES))


def add_adapters(net):
    net.requires_grad_(False)
    for i in (0, 2, 4):
        net[i] = LoraLinear(net[i])
    return [p for p in net.parameters() if p.requires_grad]


def merge_adapters(net):
    for i in (0, 2, 4):
        net[i] = net[i].merge()


def domain(kind, n, gen):
    rules = torch.randn(CLASSES, FEATURES, generator=torch.Generator().manual_seed(5))
    x = torch.randn(n, FEATURES, generator=gen)
    shift = {"base": 0.0, "field": 0.9, "night": 1.3}[kind]
    turned = torch.roll(x, 3, 1) * shift + x
    return x, (turned @ rules.T).argmax(1)


def fit(net, params, kind, steps, lr, gen):
    optimizer = torch.optim.AdamW(params, lr=lr, weight_decay=0.0)
    first = None
    for step in range(steps):
        x, y = domain(kind, 64, gen)
        loss = F.cross_entropy(net(x), y)
        first = loss.item() if first is None else first
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{kind}: loss {first:.4f} -> {loss.item():.4f}")
    return loss.item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--steps", type=int, default=300)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    net = plain_network()
    fit(net, net.parameters(), "base", args.steps, args.lr, gen)
    fit(net, add_adapters(net), "field", args.steps, args.lr, gen)
    with torch.no_grad():
        x, _ = domain("field", 256, gen)
        before = net(x)
        merge_adapters(net)
        jump = ((net(x) - before).norm() / before.norm()).item()
    last = fit(net, add_adapters(net), "night", args.steps, args.lr, gen)
    print(f"EVIDENCE change_by_merging={jump:.5f} second_stage_loss={last:.4f}")


if __name__ == "__main__":
    main()
