"""Denoising network on two moons; every few steps it is evaluated with averaged weights."""

import argparse

import torch
from sklearn.datasets import make_moons
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=1e-3)
parser.add_argument("--steps", type=int, default=1200)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)


class ParamAverage:
    """Exponential average of the trainable parameters."""

    def __init__(self, parameters, decay=0.995):
        self.decay = decay
        self.shadow = [p.detach().clone() for p in parameters]
        self.collected = []

    @torch.no_grad()
    def update(self, parameters):
        for s, p in zip(self.shadow, parameters):
            s.lerp_(p, 1.0 - self.decay)

    @torch.no_grad()
    def store(self, parameters):
        self.collected = [p.clone() for p in parameters]

    @torch.no_grad()
    def copy_to(self, parameters):
        for s, p in zip(self.shadow, parameters):
            p.copy_(s)

    @torch.no_grad()
    def restore(self, parameters):
        for c, p in zip(self.collected, parameters):
            p.copy_(c)


class Denoiser(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        self.register_buffer("freqs", 2.0 ** torch.arange(4))
        self.net = nn.Sequential(
            nn.Linear(2 + 8, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 2)
        )

    def forward(self, x, t):
        angle = t[:, None] * self.freqs
        return self.net(torch.cat([x, angle.sin(), angle.cos()], 1))


def add_noise(x, t, noise):
    alpha = torch.cos(t * torch.pi / 2)[:, None]
    sigma = torch.sin(t * torch.pi / 2)[:, None]
    return alpha * x + sigma * noise


points, _ = make_moons(4000, noise=0.05, random_state=args.seed)
points = torch.tensor(points, dtype=torch.float32)
points = (points - points.mean(0)) / points.std(0)
train, val = points[:3500], points[3500:]
val_t = torch.rand(len(val)) * 0.98 + 0.01
val_noise = torch.randn_like(val)


@torch.no_grad()
def evaluate(model):
    model.eval()
    out = model(add_noise(val, val_t, val_noise), val_t)
    model.train()
    return (out - val_noise).pow(2).mean().item()


model = Denoiser()
opt = torch.optim.Adam(model.parameters(), lr=args.lr)
ema = ParamAverage(model.parameters())
best, history = float("inf"), []
for step in range(1, args.steps + 1):
    x = train[torch.randint(len(train), (128,))]
    t = torch.rand(len(x)) * 0.98 + 0.01
    noise = torch.randn_like(x)
    loss = (model(add_noise(x, t, noise), t) - noise).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    ema.update(model.parameters())
    if step % 40 == 0:
        ema.copy_to(model.parameters())
        ema.store(model.parameters())
        score = evaluate(model)
        ema.restore(model.parameters())
        history.append(score)
        best = min(best, score)

half = history[len(history) // 2 - 1]
print(f"EVIDENCE validation of the average: {history[4]:.4f} early, {half:.4f} half way, best {best:.4f}")
