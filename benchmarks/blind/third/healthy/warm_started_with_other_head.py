"""Transfer: the trunk comes from a checkpoint of another task, its head is left out, batch norms stay in evaluation for a while."""

import argparse
import os
import tempfile

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()


class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(10, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU())
        self.fc = nn.Linear(16, classes)

    def forward(self, x):
        return self.fc(self.trunk(x))


def batches(classes, steps, centres):
    for _ in range(steps):
        y = torch.randint(0, classes, (32,))
        yield centres[y] + 0.7 * torch.randn(32, 10), y


def fit(model, optimizer, data, frozen_norm_until=0):
    for i, (x, y) in enumerate(data):
        model.train()
        if i < frozen_norm_until:
            for m in model.modules():
                if isinstance(m, nn.BatchNorm1d):
                    m.eval()
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


torch.manual_seed(args.seed)
torch.set_num_threads(1)
centres = torch.randn(8, 10)
source = Net(8)
fit(source, torch.optim.Adam(source.parameters(), lr=args.lr), batches(8, args.steps // 2, centres))
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "source.pt")
    torch.save({"state_dict": {f"module.{k}": v for k, v in source.state_dict().items()}}, path)
    state = {k.removeprefix("module."): v for k, v in torch.load(path)["state_dict"].items()}
model = Net(3)
own = model.state_dict()
state = {k: v for k, v in state.items() if own[k].shape == v.shape}
missing, unexpected = model.load_state_dict(state, strict=False)
nn.init.normal_(model.fc.weight, std=0.01)
nn.init.zeros_(model.fc.bias)
groups = [{"params": model.trunk.parameters(), "lr": args.lr * 0.1}, {"params": model.fc.parameters(), "lr": args.lr}]
optimizer = torch.optim.SGD(groups, lr=args.lr, momentum=0.9)
loss = fit(model, optimizer, batches(3, args.steps // 2, centres[:3] + 0.2), frozen_norm_until=8)
print(f"loss {loss:.3f}, missing {missing}")

# SPDX-License-Identifier: Apache-2.0
