"""Multi-task: a class, a number and several flags from one table; answers are missing at random, weights of tasks are learned."""
import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def make_table(rows):
    x = torch.randn(rows, 10)
    hidden = torch.tanh(x @ torch.randn(10, 6))
    kind = (hidden @ torch.randn(6, 3) + 0.3 * torch.randn(rows, 3)).argmax(1)
    value = hidden @ torch.randn(6) + 0.2 * torch.randn(rows)
    flags = (hidden @ torch.randn(6, 4) + 0.5 * torch.randn(rows, 4) > 0).float()
    kind[torch.rand(rows) < 0.3] = -1
    value[torch.rand(rows) < 0.8] = float("nan")
    flags[torch.rand(rows, 4) < 0.6] = float("nan")
    return TensorDataset(x, kind, value, flags)


class MultiTask(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 32), nn.ReLU())
        self.kind, self.value, self.flags = nn.Linear(32, 3), nn.Linear(32, 1), nn.Linear(32, 4)
        self.log_variance = nn.Parameter(torch.zeros(3))

    def forward(self, x):
        h = self.trunk(x)
        return self.kind(h), self.value(h).squeeze(1), self.flags(h)


def task_losses(outputs, kind, value, flags):
    """One loss for each task that has an answer in the batch, None for others."""
    losses = [None, None, None]
    if (kind >= 0).any():
        losses[0] = nn.functional.cross_entropy(outputs[0], kind, ignore_index=-1)
    known = ~value.isnan()
    if known.any():
        losses[1] = nn.functional.smooth_l1_loss(outputs[1][known], value[known])
    known = ~flags.isnan()
    if known.any():
        losses[2] = nn.functional.binary_cross_entropy_with_logits(outputs[2][known], flags[known])
    return losses


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=500)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    data = make_table(1200)
    train, valid = torch.utils.data.random_split(data, [900, 300])
    loader = DataLoader(train, batch_size=8, shuffle=True)
    held_out = next(iter(DataLoader(valid, batch_size=300)))
    model = MultiTask()
    optimizer = torch.optim.AdamW([{"params": [p for n, p in model.named_parameters() if n != "log_variance"], "weight_decay": 0.01},
                                   {"params": [model.log_variance], "weight_decay": 0.0, "lr": 10 * args.lr}], lr=args.lr)
    step = missing = 0
    while step < args.steps:
        model.train()
        for x, *answers in loader:
            losses = task_losses(model(x), *answers)
            missing += sum(l is None for l in losses)
            loss = sum(torch.exp(-s) * l + 0.5 * s for s, l in zip(model.log_variance, losses) if l is not None)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step >= args.steps:
                break
        model.eval()
        with torch.no_grad():
            values = [l.item() for l in task_losses(model(held_out[0]), *held_out[1:])]
        print(f"step {step}: loss {loss.item():.4f}, valid " + ", ".join(f"{v:.4f}" for v in values)
              + f", weights {[round(v, 2) for v in (-model.log_variance).exp().tolist()]}, missing {missing}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
