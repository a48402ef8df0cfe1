"""A beta-VAE for outlines of leaves: the weight of the divergence is warmed up to beta."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

POINTS, LATENT = 32, 6


def leaves(n, gen):
    """Radius over the angle: length, width, teeth and lobes vary."""
    angle = torch.linspace(0, 2 * torch.pi, POINTS + 1)[:-1]
    length, width = torch.rand(n, 1, generator=gen) + 0.5, torch.rand(n, 1, generator=gen) + 0.3
    teeth = 0.15 * torch.rand(n, 1, generator=gen)
    outline = length * angle.cos().pow(2) + width * angle.sin().pow(2) + teeth * (6 * angle).sin()
    return outline + 0.03 * torch.randn(n, POINTS, generator=gen)


class BetaVAE(nn.Module):
    def __init__(self, beta, width=64):
        super().__init__()
        self.beta = beta
        self.encoder = nn.Sequential(nn.Linear(POINTS, width), nn.ELU(), nn.Linear(width, 2 * LATENT))
        self.decoder = nn.Sequential(nn.Linear(LATENT, width), nn.ELU(), nn.Linear(width, POINTS))

    def forward(self, x):
        mean, log_var = self.encoder(x).chunk(2, -1)
        z = mean + (0.5 * log_var).exp() * torch.randn_like(mean)
        return self.decoder(z), mean, log_var

    def loss(self, x, warmth):
        rebuilt, mean, log_var = self(x)
        reconstruction = F.mse_loss(rebuilt, x, reduction="none").sum(1).mean() / 0.02
        divergence = -0.5 * (1 + log_var - mean.pow(2) - log_var.exp()).sum(1).mean()
        total = reconstruction + warmth * self.beta * divergence
        return total, reconstruction.detach(), divergence.detach()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--steps", type=int, default=500)
    ap.add_argument("--beta", type=float, default=6.0)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    model = BetaVAE(args.beta)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for step in range(args.steps):
        warmth = min(1.0, step / (0.3 * args.steps))
        total, reconstruction, divergence = model.loss(leaves(64, gen), warmth)
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        if step % 100 == 0:
            print(f"step {step} total {total.item():.3f} kl {divergence.item():.3f}")
    with torch.no_grad():
        _, mean, log_var = model(leaves(512, gen))
        used = (log_var.exp().mean(0) < 0.5).sum().item()
    share = (total.item() - reconstruction.item()) / divergence.item()
    print(f"EVIDENCE weight_of_divergence={share:.3f} kl={divergence.item():.3f} dimensions_used={used}")


if __name__ == "__main__":
    main()
