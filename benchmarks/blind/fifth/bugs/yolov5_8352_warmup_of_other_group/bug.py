"""A small convolutional detector of blobs; biases begin with a high rate that falls, the others are warmed up from zero."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.02)
parser.add_argument("--steps", type=int, default=100)
args = parser.parse_args()
WARMUP, BIAS_RATE = 30, 0.1


def block(inputs, outputs, stride):
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs), nn.SiLU())


def parameter_groups(model):
    weights, norms, biases = [], [], []
    for module in model.modules():
        if isinstance(getattr(module, "bias", None), nn.Parameter):
            biases.append(module.bias)
        if isinstance(module, nn.BatchNorm2d):
            norms.append(module.weight)
        elif isinstance(getattr(module, "weight", None), nn.Parameter):
            weights.append(module.weight)
    return weights, norms, biases


def pictures(count):
    place = torch.randint(4, (count, 2))
    x = 0.3 * torch.randn(count, 1, 16, 16)
    for i, (row, column) in enumerate(place.tolist()):
        x[i, 0, 4 * row:4 * row + 3, 4 * column:4 * column + 3] += 1.0
    target = torch.zeros(count, 4, 4)
    target[torch.arange(count), place[:, 0], place[:, 1]] = 1.0
    return x, target


torch.manual_seed(args.seed)
torch.set_num_threads(1)
model = nn.Sequential(block(1, 8, 1), block(8, 16, 2), block(16, 16, 2), nn.Conv2d(16, 1, 1))
weights, norms, biases = parameter_groups(model)
optimizer = torch.optim.SGD(biases, lr=args.lr, momentum=0.9, nesterov=True)
optimizer.add_param_group({"params": weights, "weight_decay": 5e-4})
optimizer.add_param_group({"params": norms})
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - 0.9 * step / args.steps)
first = None
for step in range(args.steps):
    if step < WARMUP:
        share = step / WARMUP
        for number, group in enumerate(optimizer.param_groups):
            start = BIAS_RATE if number == 2 else 0.0
            group["lr"] = start + share * (schedule.get_last_lr()[number] - start)
    first = first or [group["lr"] for group in optimizer.param_groups]
    x, target = pictures(32)
    loss = nn.functional.binary_cross_entropy_with_logits(model(x)[:, 0], target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    rates = [group["lr"] for group in optimizer.param_groups]
    if step >= WARMUP:
        schedule.step()
    if step % 20 == 19:
        print(f"step {step}: loss {loss.item():.3f}, rates {rates}")
model.eval()
with torch.no_grad():
    x, target = pictures(500)
    hit = (model(x)[:, 0].flatten(1).argmax(1) == target.flatten(1).argmax(1)).float().mean()
print(f"EVIDENCE the first rates are {first} for biases, weights and norms; {hit:.3f} of the blobs are found")

# SPDX-License-Identifier: Apache-2.0
