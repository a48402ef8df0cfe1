"""One cycle of rate and momentum; noise that fades is added to gradients, their mean is taken out, weights are clamped."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.2)
parser.add_argument("--steps", type=int, default=100)
args = parser.parse_args()


@torch.no_grad()
def treat_gradients(model, step):
    deviation = 0.01 / (1 + step) ** 0.55
    for p in model.parameters():
        if p.ndim > 1:
            p.grad -= p.grad.mean(tuple(range(1, p.ndim)), keepdim=True)
        p.grad += deviation * torch.randn_like(p.grad)


@torch.no_grad()
def clamp_weights(model, limit):
    for p in model.parameters():
        p.clamp_(-limit, limit)


torch.manual_seed(args.seed)
torch.set_num_threads(1)
label = torch.randint(3, (600,))
x = torch.randn(600, 1, 10, 10)
for kind, (rows, columns) in enumerate([(slice(0, 5), slice(None)), (slice(None), slice(0, 5)), (slice(3, 7), slice(3, 7))]):
    x[label == kind, :, rows, columns] += 0.7
loader = DataLoader(TensorDataset(x[:450], label[:450]), batch_size=25, shuffle=True)
model = nn.Sequential(nn.Conv2d(1, 8, 3, bias=False), nn.GroupNorm(2, 8), nn.ReLU(), nn.AvgPool2d(2), nn.Conv2d(8, 16, 3),
                      nn.ReLU(), nn.Flatten(), nn.Linear(64, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, nesterov=True, weight_decay=1e-3)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, args.lr, total_steps=args.steps + 1, cycle_momentum=True,
                                                base_momentum=0.8, max_momentum=0.95, three_phase=True)
step = 0
while step < args.steps:
    for inputs, target in loader:
        loss = nn.functional.cross_entropy(model(inputs), target, label_smoothing=0.05)
        optimizer.zero_grad()
        loss.backward()
        treat_gradients(model, step)
        optimizer.step()
        clamp_weights(model, 1.5)
        scheduler.step()
        step += 1
        if step % 20 == 0:
            group = optimizer.param_groups[0]
            print(f"step {step}: loss {loss.item():.4f}, rate {group['lr']:.4f}, momentum {group['momentum']:.3f}")
        if step == args.steps:
            break
model.eval()
with torch.no_grad():
    print(f"right {(model(x[450:]).argmax(1) == label[450:]).float().mean().item():.3f}")

# SPDX-License-Identifier: Apache-2.0
