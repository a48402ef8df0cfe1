"""Points of four classes by denoising; labels are left out at times, so that sampling can be guided without a classifier."""
import argparse
import math

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=1e-3)
parser.add_argument("--steps", type=int, default=750)
parser.add_argument("--guidance", type=float, default=1.25)
CLASSES, TIMES = 4, 40


class LabelEmbedder(nn.Module):
    """One row for each class and one more for 'no label'."""

    def __init__(self, num_classes, dim, drop=0.15):
        super().__init__()
        self.table = nn.Embedding(num_classes + 1, dim)
        self.num_classes, self.drop = num_classes, drop

    def forward(self, labels):
        if self.training:
            left_out = torch.rand(labels.shape) < self.drop
            labels = torch.where(left_out, self.num_classes, labels)
        return self.table(labels)


class Denoiser(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.labels = LabelEmbedder(CLASSES, dim)
        self.time = nn.Linear(16, dim)
        self.inner = nn.Linear(2, dim)
        self.body = nn.Sequential(nn.SiLU(), nn.Linear(dim, dim), nn.SiLU(), nn.Linear(dim, dim), nn.SiLU(), nn.Linear(dim, 2))
        self.register_buffer("pace", torch.exp(torch.linspace(0, math.log(100), 8)) / TIMES)

    def forward(self, x, t, labels):
        angle = t.float()[:, None] * self.pace
        clock = self.time(torch.cat([angle.sin(), angle.cos()], 1))
        return self.body(self.inner(x) + clock + self.labels(labels))


def draw(count):
    labels = torch.randint(CLASSES, (count,))
    angle = labels * (2 * math.pi / CLASSES) + 0.25 * torch.randn(count)
    return 2 * torch.stack([angle.cos(), angle.sin()], 1) + 0.1 * torch.randn(count, 2), labels


@torch.no_grad()
def sample(model, labels, alphas, guidance):
    model.eval()
    x = torch.randn(len(labels), 2)
    nobody = torch.full_like(labels, CLASSES)
    for index in reversed(range(TIMES)):
        t = torch.full((len(labels),), index)
        bare = model(x, t, nobody)
        noise = bare + guidance * (model(x, t, labels) - bare)
        a, last = alphas[index], alphas[index - 1] if index else torch.tensor(1.0)
        clean = ((x - (1 - a).sqrt() * noise) / a.sqrt()).clamp(-2.5, 2.5)
        x = last.sqrt() * clean + (1 - last).sqrt() * noise
    model.train()
    return x


def main():
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    alphas = torch.cumprod(1 - torch.linspace(1e-3, 0.3, TIMES), 0)
    model = Denoiser()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for step in range(1, args.steps + 1):
        x, labels = draw(128)
        t = torch.randint(TIMES, (128,))
        noise = torch.randn_like(x)
        noisy = alphas[t, None].sqrt() * x + (1 - alphas[t, None]).sqrt() * noise
        loss = nn.functional.mse_loss(model(noisy, t, labels), noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 150 == 0:
            print(f"step {step}: loss {loss.item():.4f}")
    labels = torch.arange(CLASSES).repeat(150)
    points = sample(model, labels, alphas, args.guidance)
    middle = labels * (2 * math.pi / CLASSES)
    error = (points - 2 * torch.stack([middle.cos(), middle.sin()], 1)).norm(dim=1)
    means = [error[labels == c].mean().item() for c in range(CLASSES)]
    print("EVIDENCE mean distance from the centre of the class: " + ", ".join(f"{m:.3f}" for m in means))


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
