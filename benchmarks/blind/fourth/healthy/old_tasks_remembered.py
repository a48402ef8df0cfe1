"""Three tasks come one after the other: a penalty holds weights that mattered, some old samples are kept, logits masked."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
TASKS, PER_TASK, STRENGTH = 3, 2, 50.0


def task_data(task, centres, n=160):
    labels = PER_TASK * task + torch.randint(PER_TASK, (n,))
    return centres[labels] + torch.randn(n, centres.size(1)), labels


def masked_logits(model, x, task):
    logits = model(x)
    own = torch.arange(logits.size(1)) // PER_TASK == task
    return logits.masked_fill(~own, float("-inf"))


def importance(model, x, labels, task):
    """Mean square of the gradient of single samples, in evaluation mode and without a step."""
    model.eval()
    fisher = [torch.zeros_like(p) for p in model.parameters()]
    for a, b in zip(x[:40], labels[:40]):
        model.zero_grad()
        nn.functional.cross_entropy(masked_logits(model, a[None], task), b[None]).backward()
        for total, p in zip(fisher, model.parameters()):
            total += p.grad ** 2 / 40
    model.zero_grad()
    return fisher


def penalty(model, remembered):
    return sum((f * (p - old) ** 2).sum() for fisher, weights in remembered
               for f, p, old in zip(fisher, model.parameters(), weights))


torch.manual_seed(args.seed)
torch.set_num_threads(1)
centres = 1.5 * torch.randn(TASKS * PER_TASK, 10)
model = nn.Sequential(nn.Linear(10, 48), nn.ReLU(), nn.Dropout(0.1), nn.Linear(48, TASKS * PER_TASK))
remembered, kept = [], []
for task in range(TASKS):
    x, labels = task_data(task, centres)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    model.train()
    for step in range(args.steps // TASKS):
        chosen = torch.randint(len(x), (32,))
        loss = nn.functional.cross_entropy(masked_logits(model, x[chosen], task), labels[chosen])
        if remembered:
            loss = loss + STRENGTH * penalty(model, remembered)
        if kept and step % 2:
            a, b, old = kept[torch.randint(len(kept), (1,)).item()]
            loss = loss + 0.5 * nn.functional.cross_entropy(masked_logits(model, a, old), b)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    remembered.append((importance(model, x, labels, task), [p.detach().clone() for p in model.parameters()]))
    kept.append((x[:16], labels[:16], task))
    with torch.no_grad():
        right = [(masked_logits(model, a, t).argmax(1) == b).float().mean().item()
                 for t in range(task + 1) for a, b in [task_data(t, centres)]]
    print(f"after task {task}: {[round(r, 3) for r in right]} right")

# SPDX-License-Identifier: Apache-2.0
