"""One encoder, three tasks: their losses run backward one after the other, then comes one step for all."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=5e-3)
parser.add_argument("--steps", type=int, default=48)
args = parser.parse_args()
WEIGHTS = {"colour": 1.0, "size": 0.5, "kind": 1.0}


class Shared(nn.Module):
    def __init__(self, features=12, width=32):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(features, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.heads = nn.ModuleDict({"colour": nn.Linear(width, 4), "size": nn.Linear(width, 1), "kind": nn.Linear(width, 3)})

    def forward(self, x, task):
        return self.heads[task](self.encoder(x))


def loss_of(task, output, target):
    if task == "size":
        return nn.functional.smooth_l1_loss(output[:, 0], target)
    return nn.functional.cross_entropy(output, target.long())


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    losses = {task: 0.0 for task in WEIGHTS}
    for x, *targets in loader:
        for task, target in zip(WEIGHTS, targets):
            losses[task] += loss_of(task, model(x, task), target).item() / len(loader)
    model.train()
    return losses


torch.manual_seed(args.seed)
torch.set_num_threads(1)
x = torch.randn(640, 12)
colour, kind = (x @ torch.randn(12, 4)).argmax(1).float(), (x @ torch.randn(12, 3)).argmax(1).float()
size = torch.tanh(x @ torch.randn(12))
train = DataLoader(TensorDataset(x[:512], colour[:512], size[:512], kind[:512]), batch_size=32, shuffle=True)
val = DataLoader(TensorDataset(x[512:], colour[512:], size[512:], kind[512:]), batch_size=64)
model = Shared()
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.8)
for epoch in range(args.steps // len(train)):
    for batch, *targets in train:
        optimizer.zero_grad()
        for (task, weight), target in zip(WEIGHTS.items(), targets):
            loss = weight * loss_of(task, model(batch, task), target)
            loss.backward()
        optimizer.step()
    scheduler.step()
    print(f"epoch {epoch}: " + ", ".join(f"{task} {loss:.3f}" for task, loss in evaluate(model, val).items()))
losses = evaluate(model, val)
print("EVIDENCE validation losses " + ", ".join(f"{task} {loss:.4f}" for task, loss in losses.items()))

# SPDX-License-Identifier: Apache-2.0
