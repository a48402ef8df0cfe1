"""Rising, falling and steady tones are told apart by spectra and their differences in time."""
import argparse

import torch
import torch.nn.functional as F
from torch import nn

FRAMES, BANDS = 24, 16


def make_spectra(count, generator):
    """Logarithmic spectra, (count, frames, bands)."""
    label = torch.randint(0, 3, (count,), generator=generator)
    slope = (label - 1).float() * (0.15 + 0.15 * torch.rand(count, generator=generator))
    middle = BANDS / 2 + 2 * torch.randn(count, generator=generator)
    time = torch.arange(FRAMES) - FRAMES / 2
    tone = middle[:, None] + slope[:, None] * time
    distance = (torch.arange(BANDS) - tone.unsqueeze(2)) / 1.2
    return torch.exp(-distance ** 2) * 2 + 0.3 * torch.randn(count, FRAMES, BANDS, generator=generator), label


def with_deltas(spectra):
    delta = spectra.diff(dim=1, prepend=spectra[:, :1])
    return torch.cat([spectra, delta], 2)


class FrameNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.frames = nn.Sequential(nn.Linear(2 * BANDS, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.out = nn.Linear(64, 3)

    def forward(self, x):
        return self.out(self.frames(x).mean(1))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=400)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    spectra, label = make_spectra(2400, generator)
    model = FrameNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for step in range(args.steps):
        rows = torch.randint(0, 2000, (32,), generator=generator)
        loss = F.cross_entropy(model(with_deltas(spectra[rows])), label[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            print(f"step {step}: loss {loss.item():.4f}")
    with torch.no_grad():
        right = (model(with_deltas(spectra[2000:])).argmax(1) == label[2000:]).float().mean()
    print(f"EVIDENCE right {right:.4f}, loss {loss.item():.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
