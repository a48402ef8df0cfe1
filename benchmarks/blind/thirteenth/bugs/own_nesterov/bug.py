"""Handwritten digits with a small CNN and an own SGD with Nesterov momentum, warm-up and decoupled decay."""

import argparse

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.optim import Optimizer

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=8e-3)
parser.add_argument("--steps", type=int, default=150)
parser.add_argument("--batch-size", type=int, default=48)
args = parser.parse_args()
np.random.seed(args.seed)
torch.manual_seed(args.seed)
torch.set_num_threads(1)


class MomentumSGD(Optimizer):
    """v <- mu v + g;  w <- w - lr (mu v + g) - lr wd w"""

    def __init__(self, params, lr, momentum=0.9, weight_decay=0.0):
        super().__init__(params, dict(lr=lr, momentum=momentum, weight_decay=weight_decay))

    def zero_grad(self, set_to_none=False):
        # keep the gradient tensors allocated between steps
        super().zero_grad(set_to_none=set_to_none)

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            mu = group["momentum"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if "velocity" not in state:
                    v = state["velocity"] = p.grad.detach()
                else:
                    v = state["velocity"]
                    v.mul_(mu).add_(p.grad)
                p.mul_(1 - group["lr"] * group["weight_decay"])
                p.add_(p.grad + mu * v, alpha=-group["lr"])
        return loss


class DigitNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 12, 3, padding=1), nn.BatchNorm2d(12), nn.ReLU(),
            nn.Conv2d(12, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(24, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU(), nn.AdaptiveAvgPool2d(2),
        )
        self.classifier = nn.Linear(24 * 4, 10)

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


images, labels = load_digits(return_X_y=True)
x_train, x_test, y_train, y_test = train_test_split(
    (images / 16.0).astype(np.float32).reshape(-1, 1, 8, 8), labels, test_size=0.25,
    stratify=labels, random_state=args.seed)
x_train, x_test = torch.from_numpy(x_train), torch.from_numpy(x_test)
y_train, y_test = torch.from_numpy(y_train), torch.from_numpy(y_test)

net = DigitNet()
decay = [p for p in net.parameters() if p.ndim > 1]
plain = [p for p in net.parameters() if p.ndim <= 1]
optimizer = MomentumSGD([{"params": decay, "weight_decay": 1e-3}, {"params": plain}], lr=args.lr, momentum=0.9)
warmup = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.1, total_iters=20)
criterion = nn.CrossEntropyLoss()

step, running, curve = 0, None, []
while step < args.steps:
    for pick in torch.randperm(len(x_train)).split(args.batch_size):
        optimizer.zero_grad()
        loss = criterion(net(x_train[pick]), y_train[pick])
        loss.backward()
        optimizer.step()
        warmup.step()
        running = loss.item() if running is None else 0.95 * running + 0.05 * loss.item()
        curve.append(running)
        if step % 30 == 0:
            print(f"step {step} loss {running:.3f}")
        step += 1
        if step == args.steps:
            break

net.eval()
with torch.no_grad():
    acc = (net(x_test).argmax(1) == y_test).float().mean().item()
print(f"EVIDENCE test accuracy {acc:.3f}, running loss half-way {curve[len(curve) // 2]:.3f}, at the end {running:.3f}")
