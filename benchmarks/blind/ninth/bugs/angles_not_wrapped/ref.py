"""The heading of a vehicle is estimated from noisy marks; errors go the short way round the circle."""
import argparse
import math

import torch
from torch import nn


class HeadingNet(nn.Module):
    def __init__(self, marks=6, hidden=64):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2 * marks, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.direction = nn.Linear(hidden, 2)

    def forward(self, x):
        sine, cosine = self.direction(self.body(x)).unbind(-1)
        return torch.atan2(sine, cosine)


def wrap(angle):
    """Into (-pi, pi]."""
    return torch.remainder(angle + math.pi, 2 * math.pi) - math.pi


class AngleLoss(nn.Module):
    def __init__(self, beta=0.3):
        super().__init__()
        self.beta = beta

    def forward(self, prediction, heading):
        error = wrap(prediction - heading)
        return nn.functional.smooth_l1_loss(error, torch.zeros_like(error), beta=self.beta)


def measure(landmarks, count, generator):
    """Landmarks as a vehicle sees them that is turned by its heading, mostly south."""
    heading = wrap(math.pi + 1.2 * torch.randn(count, generator=generator))
    c, s = heading.cos()[:, None], heading.sin()[:, None]
    x = c * landmarks[:, 0] + s * landmarks[:, 1]
    y = -s * landmarks[:, 0] + c * landmarks[:, 1]
    seen = torch.cat([x, y], 1)
    return seen + 0.25 * torch.randn(seen.shape, generator=generator), heading


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=500)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    landmarks = torch.randn(6, 2, generator=generator)
    test_seen, test_heading = measure(landmarks, 1000, torch.Generator().manual_seed(args.seed + 500))
    model, criterion = HeadingNet(), AngleLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for step in range(1, args.steps + 1):
        seen, heading = measure(landmarks, 64, generator)
        loss = criterion(model(seen), heading)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        if step % 100 == 0:
            print(f"step {step}: loss {loss.item():.4f}")
    model.eval()
    with torch.no_grad():
        error = wrap(model(test_seen) - test_heading).abs() * 180 / math.pi
    print(f"EVIDENCE mean error {error.mean().item():.3f} degrees, {(error > 30).float().mean().item():.4f} beyond 30")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
