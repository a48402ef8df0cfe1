"""Contrastive learning on two noisy views; what was learned is judged by its nearest neighbours."""

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


class NTXentLoss(nn.Module):
    def __init__(self, temperature=0.2):
        super().__init__()
        self.temperature = temperature

    def forward(self, z1, z2):
        n = z1.shape[0]
        z = F.normalize(torch.cat([z1, z2], dim=0), dim=1)
        sim = z @ z.t() / self.temperature
        sim = sim.masked_fill(torch.eye(2 * n, dtype=torch.bool), -1e9)
        targets = torch.arange(2 * n) ^ 1
        return F.cross_entropy(sim, targets)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(30, 64), nn.ReLU(), nn.Linear(64, 32))
        self.projector = nn.Sequential(nn.ReLU(), nn.Linear(32, 16))

    def forward(self, x):
        return self.projector(self.backbone(x))


class Views:
    """Samples whose first ten features tell the class, the others are drawn anew in each view."""

    def __init__(self, classes=20):
        self.centres = torch.randn(classes, 10)

    def sample(self, n):
        label = torch.randint(len(self.centres), (n,))
        return self.centres[label] + 0.25 * torch.randn(n, 10), label

    def view(self, x):
        return torch.cat([x + 0.15 * torch.randn_like(x), 1.5 * torch.randn(len(x), 20)], 1)


@torch.no_grad()
def knn(encoder, views):
    known, labels = views.sample(400)
    new, truth = views.sample(400)
    known, new = (F.normalize(encoder.backbone(views.view(x)), dim=1) for x in (known, new))
    return (labels[(new @ known.t()).argmax(1)] == truth).float().mean().item()


def main(args):
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    views, encoder, criterion = Views(), Encoder(), NTXentLoss()
    optimizer = torch.optim.Adam(encoder.parameters(), lr=args.lr)
    for step in range(1, args.steps + 1):
        x, _ = views.sample(96)
        z1, z2 = encoder(views.view(x)), encoder(views.view(x))
        loss = criterion(z1, z2)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 60 == 0:
            print(f"step {step}: loss {loss.item():.4f}, neighbours of the same class {knn(encoder, views):.3f}")
    with torch.no_grad():
        pair = F.cosine_similarity(z1, z2).mean().item()
    print(f"EVIDENCE similarity of the two views {pair:.4f}, neighbours of the same class {knn(encoder, views):.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--steps", type=int, default=360)
    main(parser.parse_args())

# SPDX-License-Identifier: Apache-2.0
