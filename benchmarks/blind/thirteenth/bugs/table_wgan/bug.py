"""WGAN with a gradient penalty which makes synthetic rows of the wine table."""

import argparse

import torch
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=1e-3)
parser.add_argument("--steps", type=int, default=200, help="generator updates")
parser.add_argument("--critic-steps", type=int, default=4)
parser.add_argument("--gp-weight", type=float, default=10.0)
args = parser.parse_args()
torch.set_num_threads(1)
torch.manual_seed(args.seed)

wine = load_wine()
rows = torch.tensor(StandardScaler().fit_transform(wine.data), dtype=torch.float32)
kinds = nn.functional.one_hot(torch.tensor(wine.target), 3).float()
FEATURES, NOISE = rows.shape[1], 8


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(NOISE + 3, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, FEATURES)
        )

    def forward(self, noise, kind):
        return self.net(torch.cat([noise, kind], 1))


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(FEATURES + 3, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1)
        )

    def forward(self, row, kind):
        return self.net(torch.cat([row, kind], 1)).squeeze(1)


def slopes(critic, real, fake, kind):
    mix = torch.rand(len(real), 1)
    between = (mix * real + (1 - mix) * fake).requires_grad_(True)
    score = critic(between, kind)
    (grad,) = torch.autograd.grad(score.sum(), between)
    return grad.norm(2, dim=1)


def sample(size):
    pick = torch.randint(0, len(rows), (size,))
    return rows[pick], kinds[pick]


generator, critic = Generator(), Critic()
opt_g = torch.optim.Adam(generator.parameters(), lr=args.lr, betas=(0.5, 0.9))
opt_c = torch.optim.Adam(critic.parameters(), lr=args.lr, betas=(0.5, 0.9))
for step in range(args.steps):
    for _ in range(args.critic_steps):
        real, kind = sample(64)
        with torch.no_grad():
            fake = generator(torch.randn(64, NOISE), kind)
        distance = critic(real, kind).mean() - critic(fake, kind).mean()
        penalty = (slopes(critic, real, fake, kind) - 1).pow(2).mean()
        loss_c = -distance + args.gp_weight * penalty
        opt_c.zero_grad()
        loss_c.backward()
        opt_c.step()
    _, kind = sample(64)
    loss_g = -critic(generator(torch.randn(64, NOISE), kind), kind).mean()
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
    if (step + 1) % 50 == 0:
        print(f"step {step + 1} distance {distance.item():.3f} penalty {penalty.item():.3f}")

with torch.no_grad():
    fake = generator(torch.randn(len(rows), NOISE), kinds)
gap = (fake.mean(0) - rows.mean(0)).abs().mean() + (fake.std(0) - rows.std(0)).abs().mean()
slope = slopes(critic, rows, fake, kinds).mean()
print(f"EVIDENCE mean slope of the critic {slope.item():.3f} (1 is right), gap of means and spreads {gap.item():.3f}")
