"""Vector quantisation: the codebook is no parameter, it follows its vectors by averages; codes that nobody uses are put elsewhere."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


class Codebook(nn.Module):
    def __init__(self, codes=32, width=8, decay=0.95):
        super().__init__()
        self.decay = decay
        self.register_buffer("codes", torch.randn(codes, width))
        self.register_buffer("count", torch.ones(codes))
        self.register_buffer("total", self.codes.clone())

    def forward(self, z):
        index = torch.cdist(z, self.codes).argmin(1)
        quantised = self.codes[index]
        if self.training:
            self.follow(z.detach(), index)
        commitment = F.mse_loss(z, quantised)
        return z + (quantised - z).detach(), commitment, index

    @torch.no_grad()
    def follow(self, z, index):
        onehot = F.one_hot(index, len(self.codes)).float()
        self.count.lerp_(onehot.sum(0), 1 - self.decay)
        self.total.lerp_(onehot.T @ z, 1 - self.decay)
        self.codes.copy_(self.total / self.count.clamp(min=1e-3)[:, None])
        unused = self.count < 0.1
        if unused.any():
            fresh = z[torch.randint(0, len(z), (int(unused.sum()),))]
            self.codes[unused], self.total[unused], self.count[unused] = fresh, fresh, 1.0


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=200)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    x = torch.tensor(load_digits().data / 16.0, dtype=torch.float32)
    encoder = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8))
    decoder = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64))
    book = Codebook()
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=args.lr)
    for step in range(args.steps):
        rows = x[torch.randint(0, 1400, (64,))]
        quantised, commitment, index = book(encoder(rows))
        loss = F.mse_loss(decoder(quantised), rows) + 0.25 * commitment
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 49:
            print(f"step {step + 1} loss {loss.item():.4f} codes in use {len(index.unique())}")
    book.eval()
    with torch.no_grad():
        quantised, _, index = book(encoder(x[1400:]))
        error = F.mse_loss(decoder(quantised), x[1400:]).item()
    print(f"RESULT error={error:.4f} codes={len(index.unique())}")


if __name__ == "__main__":
    main()
