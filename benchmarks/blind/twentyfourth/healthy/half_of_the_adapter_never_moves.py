"""Adapters whose down-projection stays as it was drawn (frozen-A): only the up-projection, zero at first, is trained."""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, SEQ = 20, 10


class FrozenALinear(nn.Module):
    def __init__(self, base, rank, alpha):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.lora_a = nn.Parameter(torch.randn(rank, base.in_features) / math.sqrt(base.in_features), requires_grad=False)
        self.lora_b = nn.Parameter(torch.zeros(base.out_features, rank))
        self.scaling = alpha / math.sqrt(rank)

    def forward(self, x):
        return self.base(x) + self.scaling * (x @ self.lora_a.t() @ self.lora_b.t())


class Model(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.inner, self.head = nn.Linear(2 * dim, 2 * dim), nn.Linear(2 * dim, VOCAB)

    def forward(self, ids):
        x = self.embed(ids)
        x = torch.cat([x, F.pad(x, (0, 0, 1, 0))[:, :-1]], -1)
        return self.head(x + F.gelu(self.inner(x)))


def rows(count, low, gen):
    start = torch.randint(0, VOCAB, (count, 1), generator=gen)
    return (start + torch.randint(low, low + 3, (count, 1), generator=gen) * torch.arange(SEQ)) % VOCAB


def run(model, params, lr, steps, low, gen):
    optimizer = torch.optim.AdamW(params, lr=lr, weight_decay=0.0)
    for step in range(steps):
        ids = rows(32, low, gen)
        loss = F.cross_entropy(model(ids[:, :-1])[:, 1:].flatten(0, 1), ids[:, 2:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0 or step == steps - 1:
            print(f"step {step} loss {loss.item():.4f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=1e-2)
    parser.add_argument("--steps", type=int, default=60)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    model = Model()
    run(model, model.parameters(), 5e-3, 20, 1, gen)
    model.requires_grad_(False)
    model.inner, model.head = FrozenALinear(model.inner, 8, 4.0), FrozenALinear(model.head, 8, 4.0)
    trainable = [p for name, p in model.named_parameters() if name.endswith("lora_b")]
    print(f"trainable {sum(p.numel() for p in trainable)} of {sum(p.numel() for p in model.parameters())}")
    run(model, trainable, args.lr, args.steps, 4, gen)


if __name__ == "__main__":
    main()
