"""WGAN with gradient penalty on three blobs of points; several critic steps for one step of the generator."""
import argparse

import torch
from torch import autograd, nn


CENTRES = torch.tensor([[2.0, 0.0], [-1.0, 1.5], [-1.0, -1.5]])


def sample_blobs(n):
    return CENTRES[torch.randint(len(CENTRES), (n,))] + 0.3 * torch.randn(n, 2)


def sliced_distance(a, b, n=32):
    directions = nn.functional.normalize(torch.randn(2, n), dim=0)
    return ((a @ directions).sort(0).values - (b @ directions).sort(0).values).abs().mean().item()


def mlp(n_in, n_out, width=64):
    return nn.Sequential(nn.Linear(n_in, width), nn.LeakyReLU(0.2), nn.Linear(width, width), nn.LeakyReLU(0.2),
                         nn.Linear(width, width), nn.LeakyReLU(0.2), nn.Linear(width, n_out))


class WGAN:
    def __init__(self, lr, z_dim=8, lam=2.0):
        self.z_dim, self.lam = z_dim, lam
        self.G, self.D = mlp(z_dim, 2), mlp(2, 1)
        self.opt_g = torch.optim.Adam(self.G.parameters(), lr=lr, betas=(0.0, 0.9))
        self.opt_d = torch.optim.Adam(self.D.parameters(), lr=lr, betas=(0.0, 0.9))

    def noise(self, n):
        return torch.randn(n, self.z_dim)

    def penalty(self, real, fake):
        eps = torch.rand(len(real), 1)
        mix = (eps * real + (1 - eps) * fake).requires_grad_(True)
        grad, = autograd.grad(self.D(mix).sum(), mix, create_graph=True)
        return ((grad.norm(2, dim=1) - 1) ** 2).mean()

    def critic_step(self, real):
        with torch.no_grad():
            fake = self.G(self.noise(len(real)))
        w = self.D(real).mean() - self.D(fake).mean()
        loss = -w + self.lam * self.penalty(real, fake)
        self.opt_d.zero_grad()
        loss.backward()
        self.opt_d.step()
        return w.item()

    def generator_step(self, n):
        self.D.requires_grad_(False)
        loss = -self.D(self.G(self.noise(n))).mean()
        self.opt_g.zero_grad()
        loss.backward()
        self.opt_g.step()
        self.D.requires_grad_(True)
        return loss.item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=170, help="generator steps")
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    gan = WGAN(args.lr)
    for it in range(1, args.steps + 1):
        # more critic steps at the beginning and from time to time, as is customary
        n_critic = 10 if it <= 10 or it % 100 == 0 else 3
        for _ in range(n_critic):
            w = gan.critic_step(sample_blobs(128))
        g_loss = gan.generator_step(128)
        if it % 40 == 0 or it == args.steps:
            gan.G.eval()
            with torch.no_grad():
                fake = gan.G(gan.noise(1000))
            gan.G.train()
            nearest, which = torch.cdist(fake, CENTRES).min(1)
            shares = (torch.bincount(which, minlength=3) / len(fake)).tolist()
            print(f"it {it}: W {w:.3f}  G {g_loss:.3f}  sliced distance {sliced_distance(fake, sample_blobs(1000)):.3f}  "
                  f"near {(nearest < 0.75).float().mean():.2f}  shares " + " ".join(f"{s:.2f}" for s in shares))


if __name__ == "__main__":
    main()
# SPDX-License-Identifier: Apache-2.0
