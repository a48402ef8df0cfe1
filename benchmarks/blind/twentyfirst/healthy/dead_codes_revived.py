"""A VQ autoencoder whose codebook is no parameter: codes follow averages, and those that are not used are put on inputs."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


class Codebook(nn.Module):
    def __init__(self, codes=24, dim=6, decay=0.95):
        super().__init__()
        self.decay = decay
        self.register_buffer("codes", torch.randn(codes, dim))
        self.register_buffer("size", torch.ones(codes))
        self.register_buffer("total", self.codes.clone())

    def forward(self, z):
        nearest = torch.cdist(z, self.codes).argmin(1)
        q = self.codes[nearest]
        if self.training:
            with torch.no_grad():
                hot = F.one_hot(nearest, len(self.codes)).float()
                self.size.mul_(self.decay).add_(hot.sum(0), alpha=1 - self.decay)
                self.total.mul_(self.decay).add_(hot.T @ z, alpha=1 - self.decay)
                self.codes.copy_(self.total / self.size.clamp(min=1e-3)[:, None])
        return z + (q - z).detach(), F.mse_loss(z, q.detach()), nearest

    @torch.no_grad()
    def revive(self, z, least=0.3):
        dead = self.size < least
        n = int(dead.sum())
        if n:
            picked = z[torch.randint(0, len(z), (n,))].detach()
            self.codes[dead], self.total[dead], self.size[dead] = picked, picked, 1.0
        return n


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--steps", type=int, default=250)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    centres = 3 * torch.randn(12, 10, generator=torch.Generator().manual_seed(81))
    encoder = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 6))
    decoder = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 10))
    book = Codebook()
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=args.lr)
    revived = 0
    for step in range(args.steps):
        x = centres[torch.randint(0, 12, (96,), generator=gen)] + 0.4 * torch.randn(96, 10, generator=gen)
        z = encoder(x)
        q, commit, _ = book(z)
        loss = F.mse_loss(decoder(q), x) + 0.25 * commit
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 25 == 24:
            revived += book.revive(z)
        if step % 50 == 0:
            print(f"step {step} loss {loss.item():.4f}")
    print(f"RESULT loss={loss.item():.4f} revived={revived}")


if __name__ == "__main__":
    main()
