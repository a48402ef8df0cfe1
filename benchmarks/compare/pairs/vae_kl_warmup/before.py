"""Variational auto-encoder on the digits images."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


class VAE(nn.Module):
    def __init__(self, pixels=64, hidden=96, latent=6):
        super().__init__()
        self.latent = latent
        self.enc = nn.Sequential(nn.Linear(pixels, hidden), nn.SiLU(), nn.Linear(hidden, 2 * latent))
        self.dec = nn.Sequential(nn.Linear(latent, hidden), nn.SiLU(), nn.Linear(hidden, pixels))

    def encode(self, x):
        mu, logvar = self.enc(x).chunk(2, dim=1)
        return mu, logvar.clamp(-8.0, 8.0)

    def forward(self, x, gen):
        mu, logvar = self.encode(x)
        eps = torch.randn(mu.shape, generator=gen)
        z = mu + eps * (0.5 * logvar).exp()
        return self.dec(z), mu, logvar


def recon_term(logits, x):
    return F.binary_cross_entropy_with_logits(logits, x, reduction="none").sum(1).mean()


def kl_term(mu, logvar):
    return 0.5 * (mu.pow(2) + logvar.exp() - 1.0 - logvar).sum(1).mean()


def load():
    x = torch.tensor(load_digits().data, dtype=torch.float32) / 16.0
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))
    return x[order[:1500]], x[order[1500:]]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--steps", type=int, default=60)
    ap.add_argument("--batch", type=int, default=100)
    args = ap.parse_args()

    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    train, test = load()
    vae = VAE()
    opt = torch.optim.Adam(vae.parameters(), lr=args.lr)

    for step in range(args.steps):
        idx = torch.randint(len(train), (args.batch,), generator=gen)
        x = train[idx]
        logits, mu, logvar = vae(x, gen)
        beta = 1.0
        rec, kl = recon_term(logits, x), kl_term(mu, logvar)
        loss = rec + beta * kl
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(vae.parameters(), 10.0)
        opt.step()
        if step % 10 == 0 or step == args.steps - 1:
            print(f"step {step} loss {loss.item():.5f}")

    vae.eval()
    with torch.no_grad():
        logits, mu, logvar = vae(test, torch.Generator().manual_seed(1))
        elbo = -(recon_term(logits, test) + kl_term(mu, logvar)).item()
    print(f"EVIDENCE test_elbo={elbo:.4f}")


if __name__ == "__main__":
    main()
