"""GAN on a ring of Gaussians with hinge loss."""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def ring(n, gen, modes=8, radius=2.0, sd=0.1):
    k = torch.randint(modes, (n,), generator=gen)
    angle = 2 * math.pi * k.float() / modes
    centre = radius * torch.stack([angle.cos(), angle.sin()], dim=1)
    return centre + sd * torch.randn(n, 2, generator=gen)


def generator(latent, width):
    return nn.Sequential(
        nn.Linear(latent, width),
        nn.ReLU(),
        nn.Linear(width, width),
        nn.ReLU(),
        nn.Linear(width, 2),
    )


def discriminator(width):
    return nn.Sequential(
        nn.Linear(2, width),
        nn.LeakyReLU(0.2),
        nn.Linear(width, width),
        nn.LeakyReLU(0.2),
        nn.Linear(width, 1),
    )


def make_optimizer(net, lr):
    return torch.optim.Adam(net.parameters(), lr=lr, betas=(0.5, 0.99))


def d_step(G, D, opt, real, z):
    with torch.no_grad():
        fake = G(z)
    loss = F.relu(1.0 - D(real)).mean() + F.relu(1.0 + D(fake)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item()


def g_step(G, D, opt, z):
    D.requires_grad_(False)
    loss = -D(G(z)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    D.requires_grad_(True)
    return loss.item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--steps", type=int, default=60)
    ap.add_argument("--batch", type=int, default=128)
    ap.add_argument("--latent", type=int, default=8)
    args = ap.parse_args()

    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    G, D = generator(args.latent, 64), discriminator(64)
    opt_g, opt_d = make_optimizer(G, args.lr), make_optimizer(D, 2 * args.lr)

    for step in range(args.steps):
        for _ in range(2):
            real = ring(args.batch, gen)
            z = torch.randn(args.batch, args.latent, generator=gen)
            d_loss = d_step(G, D, opt_d, real, z)
        z = torch.randn(args.batch, args.latent, generator=gen)
        g_loss = g_step(G, D, opt_g, z)
        if step % 10 == 0 or step == args.steps - 1:
            print(f"step {step} loss {d_loss:.8f} g_loss {g_loss:.8f}")

    with torch.no_grad():
        z = torch.randn(1000, args.latent, generator=torch.Generator().manual_seed(3))
        radius = G(z).norm(dim=1).mean().item()
    print(f"EVIDENCE mean_radius={radius:.5f} target=2.0")


if __name__ == "__main__":
    main()
