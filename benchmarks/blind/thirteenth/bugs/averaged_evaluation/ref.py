"""Energy demand: a residual MLP on tabular features, validated with the averaged weights every few steps."""

import argparse

import numpy as np
import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=3e-3)
parser.add_argument("--steps", type=int, default=600)
args = parser.parse_args()
torch.manual_seed(args.seed)
rng = np.random.default_rng(args.seed)
torch.set_num_threads(1)


def make_table(n):
    hour, day = rng.integers(0, 24, n), rng.integers(0, 365, n)
    temperature = 12 - 9 * np.cos(day / 365 * 6.28) + 4 * np.sin((hour - 9) / 24 * 6.28) + 3 * rng.standard_normal(n)
    wind = rng.gamma(2.0, 2.0, n)
    weekend = rng.random(n) < 2 / 7
    heating = np.maximum(16 - temperature, 0) * (1 + 0.08 * wind)
    cooling = np.maximum(temperature - 21, 0) ** 1.3
    base = 30 + 12 * np.sin((hour - 8) / 24 * 6.28) * (1 - 0.6 * weekend) + 6 * np.sin((hour - 3) / 12 * 6.28)
    demand = base + 1.6 * heating + 2.0 * cooling + 1.5 * rng.standard_normal(n)
    angle = np.stack([np.sin(hour / 24 * 6.28), np.cos(hour / 24 * 6.28), np.sin(day / 365 * 6.28)], 1)
    features = np.concatenate([np.stack([temperature, wind, weekend], 1), angle], 1)
    return torch.tensor(features, dtype=torch.float32), torch.tensor(demand, dtype=torch.float32)


class Averager:
    """Exponential moving average of the weights, with a swap for evaluation."""

    def __init__(self, params, decay=0.995):
        self.params = list(params)
        self.decay = decay
        self.shadow = [p.detach().clone() for p in self.params]
        self.kept = []

    @torch.no_grad()
    def update(self):
        for s, p in zip(self.shadow, self.params):
            s.lerp_(p, 1 - self.decay)

    @torch.no_grad()
    def apply(self):
        self.kept = [p.detach().clone() for p in self.params]
        for s, p in zip(self.shadow, self.params):
            p.copy_(s)

    @torch.no_grad()
    def restore(self):
        for k, p in zip(self.kept, self.params):
            p.copy_(k)
        self.kept = []


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.body = nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, width))

    def forward(self, h):
        return h + self.body(self.norm(h))


x_train, y_train = make_table(6000)
x_valid, y_valid = make_table(1500)
x_mean, x_std, y_mean, y_std = x_train.mean(0), x_train.std(0), y_train.mean(), y_train.std()
x_train, x_valid = (x_train - x_mean) / x_std, (x_valid - x_mean) / x_std

model = nn.Sequential(nn.Linear(6, 64), Residual(64), Residual(64), nn.Linear(64, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-3)
averager = Averager(model.parameters())


@torch.no_grad()
def validate():
    model.eval()
    averager.apply()
    guess = model(x_valid).squeeze(1) * y_std + y_mean
    rmse = (guess - y_valid).pow(2).mean().sqrt().item()
    averager.restore()
    model.train()
    return rmse


best, window = float("inf"), []
for step in range(args.steps):
    batch = torch.randint(0, len(x_train), (128,))
    guess = model(x_train[batch]).squeeze(1)
    loss = nn.functional.huber_loss(guess, (y_train[batch] - y_mean) / y_std)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    averager.update()
    window.append(loss.item())
    if step % 25 == 24:
        best = min(best, validate())
    if step % 200 == 199:
        print(f"step {step + 1}: loss {sum(window[-50:]) / 50:.4f}, best valid rmse {best:.3f} MW")

with torch.no_grad():
    final = ((model(x_valid).squeeze(1) * y_std + y_mean) - y_valid).pow(2).mean().sqrt().item()
print(f"EVIDENCE rmse of the averaged weights {best:.3f}, of the trained weights {final:.3f}, loss {sum(window[-50:]) / 50:.4f}")
