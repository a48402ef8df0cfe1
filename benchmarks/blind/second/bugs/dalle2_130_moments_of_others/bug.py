"""Training in two jobs; the second one goes on from the checkpoint of the first."""

import argparse
import io

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.004)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
LAYERS = 12


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.linear = nn.LayerNorm(width), nn.Linear(width, width)

    def forward(self, x):
        return x + self.linear(self.norm(x)).tanh() / LAYERS**0.5


class Net(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.layers = nn.ModuleList(Residual(width) for _ in range(LAYERS))
        self.output = nn.Linear(width, 1)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.output(x).squeeze(-1)


def get_optimizer(model, names):
    """Weights decay, biases and norms do not."""
    parameters = dict(model.named_parameters())
    decay = [parameters[n] for n in names if parameters[n].ndim > 1]
    rest = [parameters[n] for n in names if parameters[n].ndim <= 1]
    return torch.optim.AdamW([{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}],
                             lr=args.lr, betas=(0.9, 0.99))


def job(steps, data, checkpoint=None):
    model = Net()
    names = [name for name, _ in model.named_parameters()]
    if checkpoint is not None:
        names = sorted(names)
    optimizer = get_optimizer(model, names)
    begin = 0
    if checkpoint is not None:
        checkpoint.seek(0)
        state = torch.load(checkpoint)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        begin = state["step"]
    x, y = data
    losses = []
    for step in range(begin, begin + steps):
        index = torch.arange(step * 32, step * 32 + 32) % len(x)
        loss = nn.functional.mse_loss(model(x[index]), y[index])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    out = io.BytesIO()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": begin + steps}, out)
    return out, model, optimizer, losses


x = torch.randn(640, 16)
data = x, (2 * x[:, :4]).tanh().sum(1) + x[:, 4]
checkpoint, model, optimizer, losses = job(args.steps // 2, data)
moments = {n: optimizer.state[p]["exp_avg_sq"].mean().item() for n, p in model.named_parameters()}
_, resumed, again, _ = job(0, data, checkpoint)
moved = sum(abs(again.state[p]["exp_avg_sq"].mean().item() - moments[n]) > 1e-12 for n, p in resumed.named_parameters())
_, _, _, later = job(args.steps - args.steps // 2, data, checkpoint)
print(f"EVIDENCE {moved} parameters have the moments of others after loading; loss {losses[-1]:.3f}, then {later[0]:.3f} to {later[-1]:.4f}")

# Idea from lucidrains/DALLE2-pytorch#130, pytorch/pytorch#6031
# SPDX-License-Identifier: Apache-2.0
