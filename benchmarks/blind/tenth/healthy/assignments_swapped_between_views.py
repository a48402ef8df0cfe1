"""Two views swap their assignments to prototypes; assignments are balanced without a graph, prototypes wait, a queue helps later."""
import argparse

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.linear_model import RidgeClassifier
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.005)
parser.add_argument("--steps", type=int, default=160)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)


class Swapper(nn.Module):
    def __init__(self, prototypes=20):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 96), nn.BatchNorm1d(96), nn.ReLU(), nn.Linear(96, 32))
        self.prototypes = nn.Linear(32, prototypes, bias=False)

    def forward(self, x):
        z = F.normalize(self.encoder(x), dim=1)
        return z, self.prototypes(z)


@torch.no_grad()
def balance(scores, rounds=3):
    q = torch.exp(scores / 0.05).T
    q /= q.sum()
    for _ in range(rounds):
        q /= q.sum(1, keepdim=True) * q.shape[0]
        q /= q.sum(0, keepdim=True) * q.shape[1]
    return (q * q.shape[1]).T


def view(x):
    x = x.view(-1, 8, 8)
    x = torch.roll(x, (int(torch.randint(-1, 2, ())), int(torch.randint(-1, 2, ()))), (1, 2))
    return (x * (torch.rand(len(x), 8, 8) > 0.15)).flatten(1) + 0.05 * torch.randn(len(x), 64)


x, y = load_digits(return_X_y=True)
x = torch.tensor(x, dtype=torch.float32) / 16
model = Swapper()
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr * 20, momentum=0.9, weight_decay=1e-5)
queue = None
for step in range(1, args.steps + 1):
    for group in optimizer.param_groups:
        group["lr"] = args.lr * 20 * min(1.0, step / 30) * (1 - 0.9 * step / args.steps)
    with torch.no_grad():
        model.prototypes.weight.copy_(F.normalize(model.prototypes.weight, dim=1))
    rows = torch.randint(1400, (96,))
    (z1, s1), (z2, s2) = model(view(x[rows])), model(view(x[rows]))
    loss = 0.0
    for z, own, other in ((z1, s1, s2), (z2, s2, s1)):
        scores = own.detach()
        if queue is not None:
            scores = torch.cat([scores, queue @ model.prototypes.weight.detach().T])
        targets = balance(scores)[:len(own)]
        loss = loss - 0.5 * (targets * F.log_softmax(other / 0.1, dim=1)).sum(1).mean()
    if step > args.steps // 2:
        queue = z1.detach() if queue is None else torch.cat([z1.detach(), queue])[:288]
    optimizer.zero_grad()
    loss.backward()
    if step <= 40:
        model.prototypes.weight.grad = None
    optimizer.step()
    if step % 40 == 0:
        used = s1.argmax(1).unique().numel()
        print(f"step {step}: loss {loss.item():.4f}, prototypes in use {used}")
model.eval()
with torch.no_grad():
    features = model.encoder(x).numpy()
probe = RidgeClassifier().fit(features[:1400], y[:1400])
print(f"probe {probe.score(features[1400:], y[1400:]):.4f}")

# SPDX-License-Identifier: Apache-2.0
