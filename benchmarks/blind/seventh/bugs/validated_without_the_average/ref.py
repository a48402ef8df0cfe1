"""A classifier of noisy labels; an average of the weights is what is validated and kept."""

import argparse

import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils.data import DataLoader, TensorDataset

def get_args():
    parser = argparse.ArgumentParser(description=__doc__)
    for name, kind, default in (("--seed", int, 0), ("--lr", float, 0.15), ("--steps", int, 240)):
        parser.add_argument(name, type=kind, default=default)
    return parser.parse_args()


args = get_args()


def make(count, layer, noise):
    x = torch.randn(count, 12)
    y = layer(x).argmax(1).detach()
    wrong = torch.rand(count) < noise
    return x, torch.where(wrong, torch.randint(4, (count,)), y)


def evaluate(model, data):
    model.eval()
    with torch.no_grad():
        logits = model(data[0])
    model.train()
    return nn.functional.cross_entropy(logits, data[1]).item(), (logits.argmax(1) == data[1]).float().mean().item()


torch.manual_seed(args.seed)
torch.set_num_threads(1)
truth = nn.Linear(12, 4)
train, valid = TensorDataset(*make(800, truth, 0.4)), make(400, truth, 0.0)
loader = DataLoader(train, batch_size=20, shuffle=True)
model = nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 4))
average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.95))
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
step, best, kept = 0, float("inf"), None
while step < args.steps:
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        average.update_parameters(model)
        step += 1
    value, right = evaluate(average.module, valid)
    if value < best:
        best, kept = value, {k: v.clone() for k, v in average.module.state_dict().items()}
    print(f"step {step}: loss {loss.item():.4f}, validation {value:.4f}, right {right:.4f}")
model.load_state_dict(kept)
print(f"EVIDENCE the kept weights have a loss of {evaluate(model, valid)[0]:.4f}")

# SPDX-License-Identifier: Apache-2.0
