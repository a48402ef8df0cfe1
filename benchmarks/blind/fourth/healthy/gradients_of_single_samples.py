"""Private training: each sample's gradient is clipped for itself, noise is added, the sum becomes the gradient."""

import argparse

import torch
from torch import nn
from torch.func import functional_call, grad, vmap

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.3)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()
SAMPLES, RATE, MAX_NORM, NOISE = 400, 0.12, 1.0, 0.6


def sample_loss(parameters, x, y):
    return nn.functional.cross_entropy(functional_call(model, parameters, (x[None],)), y[None])


def private_gradients(x, y):
    """The batch is a random part of all samples, so that its size changes; the divisor does not."""
    parameters = {name: p.detach() for name, p in model.named_parameters()}
    grads = vmap(grad(sample_loss), (None, 0, 0))(parameters, x, y)
    norms = torch.stack([g.flatten(1).norm(dim=1) for g in grads.values()]).norm(dim=0)
    factor = (MAX_NORM / (norms + 1e-6)).clamp(max=1.0)
    for name, p in model.named_parameters():
        total = torch.einsum("n,n...->...", factor, grads[name])
        p.grad = (total + NOISE * MAX_NORM * torch.randn_like(p)) / (RATE * SAMPLES)
    return norms


torch.manual_seed(args.seed)
torch.set_num_threads(1)
x = torch.randn(SAMPLES + 100, 12)
y = (x @ torch.randn(12, 3)).argmax(1)
model = nn.Sequential(nn.Linear(12, 24), nn.GroupNorm(4, 24), nn.Tanh(), nn.Linear(24, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.5)
for step in range(args.steps):
    drawn = torch.rand(SAMPLES) < RATE
    optimizer.zero_grad(set_to_none=True)
    norms = private_gradients(x[:SAMPLES][drawn], y[:SAMPLES][drawn])
    optimizer.step()
    if step % 10 == 9:
        model.eval()
        with torch.no_grad():
            right = (model(x[SAMPLES:]).argmax(1) == y[SAMPLES:]).float().mean()
        model.train()
        print(f"step {step}: {int(drawn.sum())} samples, median norm {norms.median():.3f}, {right:.3f} right")

# SPDX-License-Identifier: Apache-2.0
