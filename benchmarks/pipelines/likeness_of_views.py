"""Two views of a sample agree, others do not: `cosine_embedding_loss`, then `triplet_margin_loss`, on an encoder with a smooth auxiliary target."""

import torch
import torch.nn.functional as F
from torch import nn

from options import options


def views(n, prototypes):
    kind = torch.randint(len(prototypes), (n,))
    return tuple(prototypes[kind] + 0.5 * torch.randn(n, prototypes.size(1)) for _ in range(2)) + (kind,)


class Encoder(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(20, width), nn.LayerNorm(width), nn.GELU(), nn.Linear(width, 12))
        self.size = nn.Linear(12, 1)

    def forward(self, x):
        code = self.body(x)
        return code, self.size(code)


def main():
    args = options(lr=3e-3, width=32, steps=50)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    prototypes = torch.randn(6, 20)
    model = Encoder(args.width)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for step in range(args.steps):
        model.train()
        first, second, kind = views(48, prototypes)
        (one, size), (two, _) = model(first), model(second)
        auxiliary = F.smooth_l1_loss(size, first.norm(dim=1, keepdim=True)) + F.huber_loss(size, first.norm(dim=1, keepdim=True))
        order = torch.randperm(48)
        if step < args.steps // 2:
            sign = torch.where(kind == kind[order], 1.0, -1.0)
            loss = F.cosine_embedding_loss(one, two[order], sign, margin=0.2) + F.cosine_embedding_loss(one, two, torch.ones(48))
        else:
            loss = F.triplet_margin_loss(one, two, two[order])
        optimizer.zero_grad()
        (loss + 0.05 * auxiliary).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        first, second, kind = views(200, prototypes)
        near = (F.normalize(model(first)[0], dim=-1) @ F.normalize(model(second)[0], dim=-1).T).argmax(dim=1)
        print(f"loss {loss.item():.3f}, nearest of its kind {(kind[near] == kind).float().mean().item():.3f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
