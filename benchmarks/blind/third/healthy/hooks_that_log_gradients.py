"""Gradient norms and activations are watched by hooks while a small network trains."""

import argparse
import collections

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()


class Watch:
    def __init__(self, model, every=5):
        self.every, self.step, self.norms, self.features = every, 0, collections.defaultdict(list), {}
        self.handles = []
        for name, module in model.named_modules():
            if isinstance(module, nn.Linear):
                self.handles.append(module.register_full_backward_hook(self.backward(name)))
                self.handles.append(module.register_forward_hook(self.forward(name)))

    def backward(self, name):
        def hook(module, grad_input, grad_output):
            if self.step % self.every == 0:
                self.norms[name].append(grad_output[0].norm().item())
        return hook

    def forward(self, name):
        def hook(module, inputs, output):
            self.features[name] = output.detach()
        return hook

    def remove(self):
        for handle in self.handles:
            handle.remove()
        self.handles.clear()


torch.manual_seed(args.seed)
torch.set_num_threads(1)
model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
watch = Watch(model)
for step in range(args.steps):
    watch.step = step
    x = torch.randn(32, 8)
    y = torch.stack([x[:, 0] * x[:, 1], x[:, 2:].mean(1)], 1)
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad(set_to_none=False)
    loss.backward()
    if step % 10 == 9:
        total = torch.stack([p.grad.norm() for p in model.parameters()]).norm()
        ratio = [args.lr * p.grad.std().item() / p.std().item() for p in model.parameters() if p.ndim == 2]
    optimizer.step()
    if step + 1 == args.steps // 2:
        watch.remove()
        with torch.no_grad():
            held_out = model(torch.randn(16, 8)).std()
        watch = Watch(model)
print(f"loss {loss:.4f}, gradient {total:.4f}, ratios {len(ratio)}, watched {sorted(watch.norms)}")

# SPDX-License-Identifier: Apache-2.0
