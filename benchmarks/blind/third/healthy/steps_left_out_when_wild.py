"""Training that leaves out steps with wild gradients and logs by a rule of its own."""

import argparse
import contextlib
import math

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()


class Guard:
    def __init__(self, factor=2.5):
        self.mean, self.factor, self.skipped = None, factor, 0

    def accepts(self, norm):
        if self.mean is None:
            self.mean = norm
        ok = math.isfinite(norm) and norm < self.factor * self.mean
        if ok:
            self.mean = 0.9 * self.mean + 0.1 * norm
        else:
            self.skipped += 1
        return ok


@contextlib.contextmanager
def evaluating(module):
    was_training = module.training
    module.eval()
    try:
        with torch.no_grad():
            yield module
    finally:
        module.train(was_training)


torch.manual_seed(args.seed)
torch.set_num_threads(1)
model = nn.Sequential(nn.Linear(10, 32), nn.SiLU(), nn.Dropout(0.1), nn.Linear(32, 2))
optimizer = torch.optim.RMSprop(model.parameters(), lr=args.lr, momentum=0.5)
guard, log = Guard(), []
for step in range(args.steps):
    x = torch.randn(24, 10)
    if step % 9 == 8:
        x = x * 20
    y = torch.stack([x[:, 0] - x[:, 1], x[:, 2] * 0.5], 1)
    output = model(x)
    loss = nn.functional.mse_loss(output[:, 0], y[:, 0])
    if step >= args.steps // 3:
        loss = loss + 0.5 * nn.functional.l1_loss(output[:, 1], y[:, 1])
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), math.inf)
    if guard.accepts(norm.item()):
        optimizer.step()
    model.zero_grad()
    if step % 7 == 0:
        with evaluating(model) as m:
            log.append(nn.functional.mse_loss(m(x), y).item())
print(f"{guard.skipped} steps left out, error {log[-1]:.3f}")

# SPDX-License-Identifier: Apache-2.0
