"""An AdamW of one's own for a small classifier."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=150)
args = parser.parse_args()


class OwnAdamW(torch.optim.Optimizer):
    def __init__(self, parameters, lr, betas=(0.9, 0.99), eps=1e-8, decay=0.05):
        super().__init__(parameters, {"lr": lr, "betas": betas, "eps": eps, "decay": decay})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            one, two = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state.update(count=0, mean=torch.zeros_like(p), square=torch.zeros_like(p))
                state["count"] += 1
                state["mean"].lerp_(p.grad, 1 - one)
                state["square"].mul_(two).addcmul_(p.grad, p.grad, value=1 - two)
                p.mul_(1 - group["decay"])
                root = (state["square"] / (1 - two ** state["count"])).sqrt_().add_(group["eps"])
                p.addcdiv_(state["mean"], root, value=-group["lr"] / (1 - one ** state["count"]))


torch.manual_seed(args.seed)
torch.set_num_threads(1)
centres = torch.randn(6, 16)
y = torch.randint(6, (1200,))
x = centres[y] + 0.8 * torch.randn(1200, 16)
train, valid = TensorDataset(x[:900], y[:900]), (x[900:], y[900:])
loader = DataLoader(train, batch_size=30, shuffle=True)
model = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 6))
optimizer = OwnAdamW(model.parameters(), lr=args.lr)
step = 0
while step < args.steps:
    for inputs, labels in loader:
        loss = nn.functional.cross_entropy(model(inputs), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
    with torch.no_grad():
        right = (model(valid[0]).argmax(1) == valid[1]).float().mean().item()
        size = sum(p.square().sum() for p in model.parameters()).sqrt().item()
    print(f"step {step}: loss {loss.item():.4f}, right {right:.4f}, norm of the weights {size:.3f}")
print(f"EVIDENCE {right:.4f} right, the norm of the weights is {size:.4f}")

# SPDX-License-Identifier: Apache-2.0
