"""Few labels, many samples without: the model's own answers count where it is sure; often there are none at first."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, RandomSampler, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.02)
parser.add_argument("--steps", type=int, default=100)
args = parser.parse_args()
CLASSES, SURE = 5, 0.9


def weak(x):
    return x + 0.1 * torch.randn_like(x)


def strong(x):
    keep = torch.rand_like(x) > 0.2
    return (x + 0.3 * torch.randn_like(x)) * keep


torch.manual_seed(args.seed)
torch.set_num_threads(1)
centres = 1.3 * torch.randn(CLASSES, 16)
label = torch.arange(1500) % CLASSES
x = centres[label] + torch.randn(1500, 16)
labelled = TensorDataset(x[:50], label[:50])
others = TensorDataset(x[50:1200])
labelled_loader = DataLoader(labelled, batch_size=10, drop_last=True,
                             sampler=RandomSampler(labelled, replacement=True, num_samples=10 * args.steps))
others_loader = DataLoader(others, batch_size=60, drop_last=True,
                           sampler=RandomSampler(others, replacement=True, num_samples=60 * args.steps))
model = nn.Sequential(nn.Linear(16, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, CLASSES))
decayed = [p for p in model.parameters() if p.ndim > 1]
plain = [p for p in model.parameters() if p.ndim <= 1]
optimizer = torch.optim.SGD([{"params": decayed, "weight_decay": 5e-4}, {"params": plain}], lr=args.lr, momentum=0.9,
                            nesterov=True)
for step, ((xl, yl), (xu,)) in enumerate(zip(labelled_loader, others_loader)):
    logits = model(torch.cat([weak(xl), weak(xu), strong(xu)]))
    known, faint, hard = logits.split([len(xl), len(xu), len(xu)])
    with torch.no_grad():
        best, answer = faint.softmax(1).max(1)
        mask = (best >= SURE).float()
    own = (nn.functional.cross_entropy(hard, answer, reduction="none") * mask).mean()
    given = nn.functional.cross_entropy(known, yl)
    loss = given + min(1.0, step / 30) * own
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 19:
        model.eval()
        with torch.no_grad():
            right = (model(x[1200:]).argmax(1) == label[1200:]).float().mean().item()
        model.train()
        print(f"step {step}: loss {loss.item():.4f}, sure {mask.mean().item():.2f}, right {right:.3f}")

# SPDX-License-Identifier: Apache-2.0
