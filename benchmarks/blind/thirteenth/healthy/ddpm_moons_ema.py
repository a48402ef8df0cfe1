"""DDPM on two moons, with class labels, classifier-free guidance, an EMA of the weights and a DDIM sampler."""

import argparse
import math

import torch
from sklearn.datasets import make_moons
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=2e-3)
parser.add_argument("--steps", type=int, default=500)
args = parser.parse_args()
torch.set_num_threads(1)
torch.manual_seed(args.seed)

T, NULL = 200, 2
points, moon = make_moons(4000, noise=0.05, random_state=args.seed)
points = torch.tensor(points, dtype=torch.float32)
points = (points - points.mean(0)) / points.std(0)
moon = torch.tensor(moon)


def cosine_alpha_bar(steps, s=0.008):
    t = torch.linspace(0, 1, steps + 1, dtype=torch.float64)
    f = torch.cos((t + s) / (1 + s) * math.pi / 2) ** 2
    betas = (1 - f[1:] / f[:-1]).clamp(max=0.999)
    return torch.cumprod(1 - betas, 0).float()


alpha_bar = cosine_alpha_bar(T)


class TimeEmbedding(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.register_buffer("freqs", torch.exp(-math.log(10000.0) * torch.arange(dim // 2) / (dim // 2)))

    def forward(self, t):
        angle = t.float()[:, None] * self.freqs
        return torch.cat([angle.sin(), angle.cos()], 1)


class Denoiser(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        self.inp = nn.Linear(2, width)
        self.time = nn.Sequential(TimeEmbedding(32), nn.Linear(32, width), nn.SiLU(), nn.Linear(width, width))
        self.label = nn.Embedding(3, width)
        self.blocks = nn.ModuleList([nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.SiLU()) for _ in range(3)])
        self.out = nn.Linear(width, 2)

    def forward(self, x, t, label):
        condition = self.time(t) + self.label(label)
        h = self.inp(x)
        for block in self.blocks:
            h = h + block(h + condition)
        return self.out(h)


@torch.no_grad()
def sample(net, label, guidance=1.5, stride=10):
    x = torch.randn(len(label), 2)
    times = list(range(T - 1, -1, -stride))
    for i, t in enumerate(times):
        stamp = torch.full((len(label),), t)
        with_label = net(x, stamp, label)
        without = net(x, stamp, torch.full_like(label, NULL))
        eps = without + guidance * (with_label - without)
        a = alpha_bar[t]
        a_next = alpha_bar[times[i + 1]] if i + 1 < len(times) else torch.ones(())
        x0 = ((x - (1 - a).sqrt() * eps) / a.sqrt()).clamp(-3, 3)
        x = a_next.sqrt() * x0 + (1 - a_next).sqrt() * eps
    return x


net = Denoiser()
ema = AveragedModel(net, multi_avg_fn=get_ema_multi_avg_fn(0.99))
optimizer = torch.optim.AdamW(net.parameters(), lr=args.lr, weight_decay=1e-4)
warmup = torch.optim.lr_scheduler.LinearLR(optimizer, 0.05, total_iters=50)
cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps - 50, eta_min=args.lr * 0.05)
scheduler = torch.optim.lr_scheduler.SequentialLR(optimizer, [warmup, cosine], milestones=[50])
running = None
for step in range(args.steps):
    pick = torch.randint(0, len(points), (256,))
    x0, label = points[pick], moon[pick].clone()
    label[torch.rand(256) < 0.15] = NULL
    t = torch.randint(0, T, (256,))
    noise = torch.randn_like(x0)
    a = alpha_bar[t][:, None]
    xt = a.sqrt() * x0 + (1 - a).sqrt() * noise
    loss = nn.functional.mse_loss(net(xt, t, label), noise)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
    scheduler.step()
    ema.update_parameters(net)
    running = loss.item() if running is None else 0.98 * running + 0.02 * loss.item()
    if (step + 1) % 250 == 0:
        print(f"step {step + 1} loss {running:.4f}")

ema.eval()
wanted = torch.arange(500) % 2
made = sample(ema, wanted)
distance, nearest = torch.cdist(made, points).min(1)
right = (moon[nearest] == wanted).float().mean()
print(f"distance to the data {distance.mean():.4f}, on the wanted moon {right:.3f}")
