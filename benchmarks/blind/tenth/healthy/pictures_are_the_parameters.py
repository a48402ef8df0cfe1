"""A data set is distilled: a few pictures are the parameters, learned so that their gradients point where those of real data do."""
import argparse

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--steps", type=int, default=80)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)


def build():
    return nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, 10))


def difference(ours, theirs):
    return sum((1 - F.cosine_similarity(a.flatten(1), b.flatten(1), dim=1)).sum() for a, b in zip(ours, theirs) if a.ndim > 1)


x, y = load_digits(return_X_y=True)
x, y = torch.tensor(x, dtype=torch.float32) / 16, torch.tensor(y)
test = slice(1300, None)
by_class = [(y[:1300] == c).nonzero().squeeze(1) for c in range(10)]
pictures = nn.Parameter(0.1 * torch.randn(20, 64) + x[:1300].mean(0))
labels = torch.arange(10).repeat_interleave(2)
picture_optimizer = torch.optim.SGD([pictures], lr=args.lr, momentum=0.5)


def judge():
    """A network of its own learns from the few pictures alone."""
    net = build()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(60):
        optimizer.zero_grad()
        F.cross_entropy(net(pictures.detach()), labels).backward()
        optimizer.step()
    with torch.no_grad():
        return (net(x[test]).argmax(1) == y[test]).float().mean().item()


print(f"before: {judge():.4f}")
for step in range(1, args.steps + 1):
    if step % 10 == 1:
        net = build()
        net_optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    weights = list(net.parameters())
    total = 0.0
    for c in range(10):
        rows = by_class[c][torch.randint(len(by_class[c]), (24,))]
        real = torch.autograd.grad(F.cross_entropy(net(x[rows]), y[rows]), weights)
        made = torch.autograd.grad(F.cross_entropy(net(pictures[labels == c]), labels[labels == c]), weights, create_graph=True)
        total = total + difference(made, [g.detach() for g in real])
    picture_optimizer.zero_grad()
    total.backward()
    picture_optimizer.step()
    for _ in range(3):
        net_optimizer.zero_grad()  # takes away what the match has left there, too
        F.cross_entropy(net(pictures.detach()), labels).backward()
        net_optimizer.step()
    if step % 20 == 0:
        print(f"step {step}: difference {total.item():.4f}, right after learning from twenty pictures {judge():.4f}")

# SPDX-License-Identifier: Apache-2.0
