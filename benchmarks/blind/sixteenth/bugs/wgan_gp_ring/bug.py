"""WGAN-GP on a ring of eight Gaussians."""
import argparse
import math

import torch
import torch.nn as nn


def sample_ring(n, gen, modes=8, std=0.05):
    idx = torch.randint(0, modes, (n,), generator=gen)
    angle = idx.float() * (2 * math.pi / modes)
    centers = torch.stack([angle.cos(), angle.sin()], dim=1)
    return centers + std * torch.randn(n, 2, generator=gen)


class Generator(nn.Module):
    def __init__(self, z_dim=8, hidden=64):
        super().__init__()
        self.z_dim = z_dim
        self.net = nn.Sequential(nn.Linear(z_dim, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(),
                                 nn.Linear(hidden, 2))

    def forward(self, z):
        return self.net(z)


class Critic(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, hidden), nn.LeakyReLU(0.2), nn.Linear(hidden, hidden),
                                 nn.LeakyReLU(0.2), nn.Linear(hidden, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


def interpolate(real, fake):
    eps = torch.rand(real.size(0), 1)
    return (eps * real + (1 - eps) * fake).detach().requires_grad_(True)


def gradient_penalty(critic, real, fake):
    mixed = interpolate(real, fake)
    scores = critic(mixed)
    grads = torch.autograd.grad(
        outputs=scores,
        inputs=mixed,
        grad_outputs=torch.ones_like(scores),
        create_graph=False,
        retain_graph=True,
    )[0]
    return (grads.norm(2, dim=1) - 1).square().mean()


def critic_grad_norm(critic, real, fake):
    mixed = interpolate(real, fake)
    (g,) = torch.autograd.grad(critic(mixed).sum(), mixed)
    return g.norm(2, dim=1).mean().item()


def sliced_wasserstein(a, b, n_proj=64):
    dirs = torch.nn.functional.normalize(torch.randn(2, n_proj), dim=0)
    return (torch.sort(a @ dirs, dim=0)[0] - torch.sort(b @ dirs, dim=0)[0]).abs().mean().item()


class WGANTrainer:
    def __init__(self, lr, gen, lambda_gp=1.0, n_critic=4, batch=128):
        self.G, self.D = Generator(), Critic()
        self.opt_g = torch.optim.Adam(self.G.parameters(), lr=lr, betas=(0.5, 0.9))
        self.opt_d = torch.optim.Adam(self.D.parameters(), lr=lr, betas=(0.5, 0.9))
        self.gen, self.lambda_gp, self.n_critic, self.batch = gen, lambda_gp, n_critic, batch

    def noise(self, n=None):
        return torch.randn(n or self.batch, self.G.z_dim)

    def critic_step(self):
        real = sample_ring(self.batch, self.gen)
        with torch.no_grad():
            fake = self.G(self.noise())
        w_dist = self.D(real).mean() - self.D(fake).mean()
        gp = gradient_penalty(self.D, real, fake)
        loss = -w_dist + self.lambda_gp * gp
        self.opt_d.zero_grad(set_to_none=True)
        loss.backward()
        self.opt_d.step()
        return w_dist.item(), gp.item()

    def generator_step(self):
        loss = -self.D(self.G(self.noise())).mean()
        self.opt_g.zero_grad(set_to_none=True)
        loss.backward()
        self.opt_g.step()
        return loss.item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-4)
    ap.add_argument("--steps", type=int, default=500)
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed + 1)

    trainer = WGANTrainer(args.lr, gen)
    for step in range(args.steps):
        for _ in range(trainer.n_critic):
            w_dist, gp = trainer.critic_step()
        g_loss = trainer.generator_step()
        if step % 100 == 0:
            print(f"step {step:4d} W {w_dist:.4f} gp {gp:.4f} G {g_loss:.4f}")

    real = sample_ring(2000, gen)
    with torch.no_grad():
        fake = trainer.G(trainer.noise(2000))
    gn = critic_grad_norm(trainer.D, real, fake)
    print(f"EVIDENCE sliced_w={sliced_wasserstein(real, fake):.4f} critic_grad_norm={gn:.3f}")


if __name__ == "__main__":
    main()
