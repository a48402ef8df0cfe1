"""GAN on a ring of Gaussians, non-saturating loss with R1 gradient penalty and an averaged generator."""
import argparse
import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def sample_real(n):
    k = torch.randint(0, 8, (n,))
    angle = 2 * math.pi * k / 8
    centers = torch.stack([angle.cos(), angle.sin()], dim=1)
    return centers + 0.05 * torch.randn(n, 2)


def mlp(sizes):
    layers = []
    for i, (a, b) in enumerate(zip(sizes[:-1], sizes[1:])):
        layers.append(nn.Linear(a, b))
        if i < len(sizes) - 2:
            layers.append(nn.LeakyReLU(0.2))
    return nn.Sequential(*layers)


class Generator(nn.Module):
    def __init__(self, latent=8, hidden=96):
        super().__init__()
        self.latent = latent
        self.net = mlp([latent, hidden, hidden, 2])

    def forward(self, n):
        return self.net(torch.randn(n, self.latent))


class Discriminator(nn.Module):
    def __init__(self, hidden=96):
        super().__init__()
        self.net = mlp([2, hidden, hidden, hidden, 1])

    def forward(self, x):
        return self.net(x).squeeze(1)


def gradient_penalty(scores, samples):
    """Zero-centred penalty on the gradient of the discriminator at the samples."""
    grad, = torch.autograd.grad(scores.sum(), samples, create_graph=True)
    return grad.pow(2).sum(dim=1).mean()


def discriminator_step(gen, disc, optimizer, batch, gamma):
    real = sample_real(batch).requires_grad_(True)
    with torch.no_grad():
        fake = gen(batch)
    real_scores = disc(real)
    fake_scores = disc(fake)
    adversarial = F.softplus(fake_scores).mean() + F.softplus(-real_scores).mean()
    penalty = gradient_penalty(real_scores, real)
    loss = adversarial + 0.5 * gamma * penalty
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    return adversarial.item(), penalty.item()


def generator_step(gen, disc, optimizer, batch):
    loss = F.softplus(-disc(gen(batch))).mean()
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    return loss.item()


@torch.no_grad()
def update_average(gen, average, decay):
    for p, q in zip(gen.parameters(), average.parameters()):
        q.lerp_(p, 1 - decay)


@torch.no_grad()
def energy_distance(a, b):
    cross = torch.cdist(a, b).mean()
    return (2 * cross - torch.cdist(a, a).mean() - torch.cdist(b, b).mean()).item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--disc-steps", type=int, default=4)
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--gamma", type=float, default=0.5)
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    gen, disc = Generator(), Discriminator()
    average = copy.deepcopy(gen).requires_grad_(False)
    opt_g = torch.optim.Adam(gen.parameters(), lr=args.lr, betas=(0.0, 0.99))
    opt_d = torch.optim.Adam(disc.parameters(), lr=args.lr, betas=(0.0, 0.99))

    penalties = []
    for step in range(args.steps):
        for _ in range(args.disc_steps):
            d_loss, penalty = discriminator_step(gen, disc, opt_d, args.batch_size, args.gamma)
            penalties.append(penalty)
        g_loss = generator_step(gen, disc, opt_g, args.batch_size)
        update_average(gen, average, 0.9)
        if step % 20 == 0 or step == args.steps - 1:
            print(f"step {step:4d}  D {d_loss:.4f}  G {g_loss:.4f}  penalty {penalty:.4f}")

    distance = energy_distance(average(2000), sample_real(2000))
    late = sum(penalties[-40:]) / len(penalties[-40:])
    print(f"EVIDENCE energy_distance={distance:.4f} late_penalty={late:.4f}")


if __name__ == "__main__":
    main()
