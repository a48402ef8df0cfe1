"""GAN that synthesises rows of the wine table; one optimizer for each player."""
import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

LATENT = 8


def mlp(sizes, act):
    layers = []
    for i, (a, b) in enumerate(zip(sizes[:-1], sizes[1:])):
        layers.append(nn.Linear(a, b))
        if i < len(sizes) - 2:
            layers.append(act())
    return nn.Sequential(*layers)


class LeakyReLU(nn.LeakyReLU):
    def __init__(self):
        super().__init__(0.2)


def correlation_gap(real, fake):
    a = np.corrcoef(real, rowvar=False)
    b = np.corrcoef(fake, rowvar=False)
    return float(np.abs(a - b).mean())


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--steps", type=int, default=60)
    args = ap.parse_args()
    torch.manual_seed(args.seed)

    table, _ = load_wine(return_X_y=True)
    table = StandardScaler().fit_transform(table).astype(np.float32)
    real_rows = torch.from_numpy(table)
    cols = real_rows.shape[1]

    gen = mlp([LATENT, 64, 64, cols], nn.ReLU)
    disc = mlp([cols, 64, 64, 1], LeakyReLU)
    kwargs = dict(betas=(0.5, 0.9), weight_decay=1e-4)
    opt_g = torch.optim.AdamW(gen.parameters(), lr=args.lr, **kwargs)
    opt_d = torch.optim.AdamW(disc.parameters(), lr=args.lr, **kwargs)

    for step in range(args.steps):
        for _ in range(2):
            real = real_rows[torch.randint(len(real_rows), (64,))]
            with torch.no_grad():
                fake = gen(torch.randn(64, LATENT))
            d_loss = F.softplus(-disc(real)).mean() + F.softplus(disc(fake)).mean()
            opt_d.zero_grad()
            d_loss.backward()
            opt_d.step()

        fake = gen(torch.randn(64, LATENT))
        g_loss = F.softplus(-disc(fake)).mean()
        opt_g.zero_grad()
        g_loss.backward()
        opt_g.step()

        if step % 10 == 0 or step == args.steps - 1:
            print(f"step {step:3d} d_loss {d_loss.item():.8f} g_loss {g_loss.item():.8f}")

    with torch.no_grad():
        sample = gen(torch.randn(1000, LATENT)).numpy()
    gap = correlation_gap(table, sample)
    print(f"EVIDENCE corr_gap={gap:.6f}")


if __name__ == "__main__":
    main()
