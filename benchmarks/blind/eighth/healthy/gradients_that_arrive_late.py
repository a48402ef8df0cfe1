"""As in a pipeline with stale weights: a gradient is applied two steps after it was computed, stale ones are damped."""

import argparse
from collections import deque

import torch
from torch import nn
from torch.nn import functional as F

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.02)
parser.add_argument("--steps", type=int, default=200)
args = parser.parse_args()


class Delayed:
    """Keeps gradients in a queue; a worker may be late by chance, then nothing is applied in that step."""

    def __init__(self, model, optimizer, delay, generator):
        self.parameters, self.optimizer, self.delay = list(model.parameters()), optimizer, delay
        self.queue, self.generator = deque(), generator
        self.applied = self.waited = 0

    def push(self, step, gradients):
        self.queue.append((step, [g.clone() for g in gradients]))

    def pull(self, step):
        late = torch.rand((), generator=self.generator).item() < 0.15
        if late or not self.queue or step - self.queue[0][0] < self.delay:
            self.waited += 1
            return
        while self.queue and step - self.queue[0][0] >= self.delay:
            made, gradients = self.queue.popleft()
            damping = 1.0 / max(1, step - made - self.delay + 1)
            for p, g in zip(self.parameters, gradients):
                p.grad = g * damping
            nn.utils.clip_grad_norm_(self.parameters, 1.0)
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=True)
            self.applied += 1

    def drain(self, step):
        while self.queue:
            self.delay = 0
            self.pull(step)


torch.manual_seed(args.seed)
torch.set_num_threads(1)
generator = torch.Generator().manual_seed(args.seed)
teacher = nn.Sequential(nn.Linear(10, 24), nn.Tanh(), nn.Linear(24, 4)).requires_grad_(False)
model = nn.Sequential(nn.Linear(10, 48), nn.GELU(), nn.Linear(48, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.8)
pipe = Delayed(model, optimizer, 2, generator)
valid = torch.randn(500, 10)
for step in range(1, args.steps + 1):
    x = torch.randn(64, 10)
    loss = 10 * F.smooth_l1_loss(model(x), teacher(x))
    pipe.push(step, torch.autograd.grad(loss, pipe.parameters))
    pipe.pull(step)
    if step % 40 == 0:
        with torch.no_grad():
            error = F.mse_loss(model(valid), teacher(valid)).item()
        print(f"step {step}: loss {loss.item():.4f}, valid {error:.4f}, {pipe.applied} applied, {pipe.waited} waits")
pipe.drain(args.steps)
with torch.no_grad():
    print(f"valid {F.mse_loss(model(valid), teacher(valid)).item():.4f}, {pipe.applied} gradients of {args.steps} were applied")

# SPDX-License-Identifier: Apache-2.0
