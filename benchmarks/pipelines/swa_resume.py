"""Stochastic weight averaging with update_bn, in a run that is interrupted and resumed; an optimizer of one's own."""

import io

import torch
import torch.nn.functional as F
from sklearn.datasets import load_breast_cancer
from torch import nn
from torch.optim.swa_utils import SWALR, AveragedModel, update_bn
from torch.utils.data import DataLoader, TensorDataset

from options import options


class Lion(torch.optim.Optimizer):
    """The sign of an interpolated momentum."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(params, {"lr": lr, "betas": betas, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            b1, b2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["momentum"] = torch.zeros_like(p)
                p.mul_(1 - group["lr"] * group["weight_decay"])
                m = state["momentum"]
                p.add_(torch.sign(b1 * m + (1 - b1) * p.grad), alpha=-group["lr"])
                m.lerp_(p.grad, 1 - b2)


def build(args):
    model = nn.Sequential(nn.Linear(30, args.width), nn.BatchNorm1d(args.width), nn.ReLU(), nn.Linear(args.width, 2))
    optimizer = Lion(model.parameters(), lr=args.lr, weight_decay=0.01)
    return model, optimizer, torch.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=20)


def main():
    args = options(lr=3e-3, width=32, steps=48)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    raw = load_breast_cancer()
    x = torch.tensor((raw.data - raw.data.mean(0)) / raw.data.std(0), dtype=torch.float32)
    y = torch.tensor(raw.target)
    loader = DataLoader(TensorDataset(x[:480], y[:480]), batch_size=60, shuffle=True)
    epochs = max(4, args.steps // len(loader))

    def train_epoch():
        model.train()
        for xb, yb in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(xb), yb)
            loss.backward()
            optimizer.step()
        return loss.item()

    model, optimizer, scheduler = build(args)
    for epoch in range(epochs // 2):
        print(f"epoch {epoch}: loss {train_epoch():.3f}")
        scheduler.step()
    checkpoint = io.BytesIO()
    torch.save([model.state_dict(), optimizer.state_dict(), scheduler.state_dict()], checkpoint)

    checkpoint.seek(0)
    model, optimizer, scheduler = build(args)
    for part, state in zip((model, optimizer, scheduler), torch.load(checkpoint)):
        part.load_state_dict(state)
    swa_model, swa_scheduler = AveragedModel(model), SWALR(optimizer, swa_lr=args.lr / 3, anneal_epochs=2)
    for epoch in range(epochs // 2, epochs):
        print(f"epoch {epoch}: loss {train_epoch():.3f}")
        swa_model.update_parameters(model)
        swa_scheduler.step()
    update_bn(loader, swa_model)
    swa_model.eval()
    with torch.no_grad():
        print(f"accuracy of the average {(swa_model(x[480:]).argmax(1) == y[480:]).float().mean().item():.3f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
