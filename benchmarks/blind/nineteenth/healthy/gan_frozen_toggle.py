"""WGAN-GP on a ring of Gaussians: the critic is frozen while the generator learns, which steps every fourth batch only."""
import argparse
import copy
import math

import torch
import torch.nn as nn


def ring(n, gen=None):
    k = torch.randint(0, 8, (n,), generator=gen).float() * (2 * math.pi / 8)
    return torch.stack([k.cos(), k.sin()], 1) * 2 + 0.08 * torch.randn(n, 2, generator=gen)


def mlp(i, o):
    return nn.Sequential(nn.Linear(i, 96), nn.LeakyReLU(0.2), nn.Linear(96, 96), nn.LeakyReLU(0.2), nn.Linear(96, o))


def gradient_penalty(critic, real, fake):
    mix = torch.lerp(real, fake, torch.rand(len(real), 1)).requires_grad_(True)
    (grad,) = torch.autograd.grad(critic(mix).sum(), mix, create_graph=True)
    return (grad.norm(dim=1) - 1).pow(2).mean()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--steps", type=int, default=100, help="generator updates are 4 per step")
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen, critic = mlp(4, 2), mlp(2, 1)
    # the averaged generator is the one that is judged; its decay is short on purpose
    avg = copy.deepcopy(gen).requires_grad_(False)
    g_opt = torch.optim.Adam(gen.parameters(), lr=args.lr, betas=(0.0, 0.9))
    c_opt = torch.optim.Adam(critic.parameters(), lr=args.lr, betas=(0.0, 0.9))
    batch_no = 0
    for step in range(args.steps):
        for _ in range(16):
            batch_no += 1
            real = ring(96)
            with torch.no_grad():
                fake = gen(torch.randn(96, 4))
            c_loss = critic(fake).mean() - critic(real).mean() + 1.0 * gradient_penalty(critic, real, fake)
            c_opt.zero_grad()
            c_loss.backward()
            c_opt.step()
            if batch_no % 4:
                continue
            critic.requires_grad_(False)
            g_loss = -critic(gen(torch.randn(96, 4))).mean()
            g_opt.zero_grad()
            g_loss.backward()
            g_opt.step()
            critic.requires_grad_(True)
            with torch.no_grad():
                for a, p in zip(avg.parameters(), gen.parameters()):
                    a.lerp_(p, 0.1)
        if step % 20 == 0 or step == args.steps - 1:
            print(f"step {step:3d} critic {c_loss.item():+.4f} generator {g_loss.item():+.4f}")
    with torch.no_grad():
        x, y = avg(torch.randn(1000, 4)), ring(1000)
        ed = 2 * torch.cdist(x, y).mean() - torch.cdist(x, x).mean() - torch.cdist(y, y).mean()
        ang = (torch.atan2(x[:, 1], x[:, 0]) / (2 * math.pi / 8)).round().long() % 8
    print(f"EVIDENCE energy_distance={ed.item():.4f} modes={len(ang.unique())}")


if __name__ == "__main__":
    main()
