"""MAML on sine regression: learn a start from which five gradient steps fit a new wave."""

import argparse
import math

import torch
from torch import nn
from torch.func import functional_call

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=4e-3, help="outer learning rate")
parser.add_argument("--inner-lr", type=float, default=0.03)
parser.add_argument("--inner-steps", type=int, default=1)
parser.add_argument("--steps", type=int, default=240)
parser.add_argument("--tasks", type=int, default=5)
parser.add_argument("--shots", type=int, default=10)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)


class SineTask:
    def __init__(self):
        self.amplitude = 0.5 + 3.5 * torch.rand(())
        self.phase = math.pi * torch.rand(())

    def sample(self, n):
        x = 10 * torch.rand(n, 1) - 5
        return x, self.amplitude * torch.sin(x + self.phase)


class Regressor(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
                                 nn.Linear(width, 1))

    def forward(self, x):
        return self.net(x)


def adapt(model, params, x, y, steps, create_graph):
    for _ in range(steps):
        loss = nn.functional.mse_loss(functional_call(model, params, (x,)), y)
        grads = torch.autograd.grad(loss, list(params.values()), create_graph=create_graph)
        params = {name: p - args.inner_lr * g for (name, p), g in zip(params.items(), grads)}
    return params


def evaluate(model, tasks, steps):
    before, after = 0.0, 0.0
    for task, (xs, ys), (xq, yq) in tasks:
        start = dict(model.named_parameters())
        adapted = adapt(model, start, xs, ys, steps, create_graph=False)
        with torch.no_grad():
            before += nn.functional.mse_loss(model(xq), yq).item() / len(tasks)
            after += nn.functional.mse_loss(functional_call(model, adapted, (xq,)), yq).item() / len(tasks)
    return before, after


def fixed_tasks(n):
    out = []
    for _ in range(n):
        task = SineTask()
        out.append((task, task.sample(args.shots), task.sample(50)))
    return out


val_tasks, test_tasks = fixed_tasks(20), fixed_tasks(60)
model = Regressor()
meta_opt = torch.optim.Adam(model.parameters(), lr=args.lr)
best_val, best_state = float("inf"), None

for step in range(args.steps):
    meta_opt.zero_grad()
    outer = 0.0
    for _ in range(args.tasks):
        task = SineTask()
        xs, ys = task.sample(args.shots)
        xq, yq = task.sample(args.shots)
        fast = adapt(model, dict(model.named_parameters()), xs, ys, args.inner_steps, create_graph=True)
        query_loss = nn.functional.mse_loss(functional_call(model, fast, (xq,)), yq) / args.tasks
        query_loss.backward()
        outer += query_loss.item()
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    meta_opt.step()
    if (step + 1) % 60 == 0:
        _, val = evaluate(model, val_tasks, 5)
        if val < best_val:
            best_val = val
            best_state = {k: v.clone() for k, v in model.state_dict().items()}
        print(f"step {step + 1} outer {outer:.3f} val {val:.3f}")

if best_state is not None:
    model.load_state_dict(best_state)
before, after = evaluate(model, test_tasks, 5)
print(f"test error before adaptation {before:.3f}, after five steps {after:.3f}")
