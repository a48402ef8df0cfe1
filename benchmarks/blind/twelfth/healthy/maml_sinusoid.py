"""MAML on sinusoids: second-order inner loop, one to three inner steps and five or ten shots drawn per task."""
import argparse
import math
import random

import torch
from torch import nn
from torch.func import functional_call


class SineTask:
    def __init__(self, rng):
        self.amplitude, self.phase = rng.uniform(0.5, 3.0), rng.uniform(0, math.pi)

    def sample(self, n):
        x = torch.rand(n, 1) * 6 - 3
        return x, self.amplitude * torch.sin(x + self.phase)


def adapt(model, params, x, y, steps, inner_lr, create_graph):
    for _ in range(steps):
        loss = nn.functional.mse_loss(functional_call(model, params, (x,)), y)
        grads = torch.autograd.grad(loss, list(params.values()), create_graph=create_graph)
        params = {name: p - inner_lr * g for (name, p), g in zip(params.items(), grads)}
    return params


def evaluate(model, tasks, inner_lr):
    before = after = 0.0
    for task in tasks:
        (xs, ys), (xq, yq) = task.sample(10), task.sample(50)
        params = {n: p.detach().requires_grad_(True) for n, p in model.named_parameters()}
        fast = adapt(model, params, xs, ys, 3, inner_lr, create_graph=False)
        with torch.no_grad():
            before += nn.functional.mse_loss(functional_call(model, params, (xq,)), yq).item() / len(tasks)
            after += nn.functional.mse_loss(functional_call(model, fast, (xq,)), yq).item() / len(tasks)
    return before, after


def main(args):
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    rng = random.Random(args.seed)
    model = nn.Sequential(nn.Linear(1, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 1))
    meta_opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    held_out = [SineTask(random.Random(args.seed + 1000 + i)) for i in range(20)]
    for it in range(1, args.steps + 1):
        meta_opt.zero_grad()
        total = 0.0
        for _ in range(args.tasks):
            task = SineTask(rng)
            x, y = task.sample(rng.choice([5, 10]))
            xq, yq = task.sample(15)
            fast = adapt(model, dict(model.named_parameters()), x, y, rng.randint(1, 3), args.inner_lr, create_graph=True)
            loss = nn.functional.mse_loss(functional_call(model, fast, (xq,)), yq) / args.tasks
            loss.backward()
            total += loss.item()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        meta_opt.step()
        if it % 50 == 0 or it == args.steps:
            before, after = evaluate(model, held_out, args.inner_lr)
            print(f"meta step {it}: query loss {total:.3f}, held-out {before:.3f} before and {after:.3f} after three steps")


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=4e-3)
    ap.add_argument("--steps", type=int, default=150)
    ap.add_argument("--inner-lr", type=float, default=0.05)
    ap.add_argument("--tasks", type=int, default=4)
    main(ap.parse_args())
# SPDX-License-Identifier: Apache-2.0
