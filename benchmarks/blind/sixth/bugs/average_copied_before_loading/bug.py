"""A pretrained regressor is tuned; what is delivered is the average of its weights."""

import argparse
import copy
import io

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.003)
parser.add_argument("--steps", type=int, default=80)
args = parser.parse_args()


def build():
    return nn.Sequential(nn.Linear(12, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 1))


class Averaged(nn.Module):
    """Keeps a copy of a model that follows it slowly."""

    def __init__(self, model, decay):
        super().__init__()
        self.module = copy.deepcopy(model).requires_grad_(False)
        self.decay = decay

    @torch.no_grad()
    def follow(self, model):
        for mine, theirs in zip(self.module.state_dict().values(), model.state_dict().values()):
            mine.lerp_(theirs, 1 - self.decay)

    def forward(self, x):
        return self.module(x)


def fit(model, x, y, steps, rate, after_step=None):
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    for step in range(1, steps + 1):
        index = torch.randint(len(x), (32,))
        loss = nn.functional.mse_loss(model(x[index]), y[index])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if after_step is not None:
            after_step(model)
        if step % 40 == 0:
            print(f"step {step}: loss {loss.item():.4f}")


def pretrain(x, y):
    file = io.BytesIO()
    model = build()
    fit(model, x, y, args.steps, args.lr)
    torch.save(model.state_dict(), file)
    file.seek(0)
    return file


def tune(file, x, y):
    model = build()
    average = Averaged(model, 0.98)
    model.load_state_dict(torch.load(file))
    fit(model, x, y, args.steps, args.lr / 4, average.follow)
    return model.eval(), average.eval()


torch.manual_seed(args.seed)
torch.set_num_threads(1)
truth = torch.randn(12, 1) / 3
x = torch.randn(1200, 12)
y = torch.sin(x @ truth)
file = pretrain(x, y)
model, average = tune(file, x, y + 0.2 * x[:, :1])
with torch.no_grad():
    errors = [nn.functional.mse_loss(m(x), y + 0.2 * x[:, :1]).item() for m in (model, average)]
print(f"EVIDENCE error of the model {errors[0]:.4f}, of its average {errors[1]:.4f}")

# SPDX-License-Identifier: Apache-2.0
