"""A regression with noisy steps; an average of the weights is kept beside, in a smaller type where that is allowed, and is what is used later."""
import argparse
import copy

import torch
from sklearn.datasets import make_friedman1
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=900)
parser.add_argument("--decay", type=float, default=0.995)


class AveragedWeights:
    def __init__(self, model, decay, dtype):
        self.decay = decay
        self.model = copy.deepcopy(model).to(dtype).requires_grad_(False).eval()

    @torch.no_grad()
    def update(self, model):
        for average, p in zip(self.model.parameters(), model.parameters()):
            average.add_(p.to(average.dtype) - average, alpha=1 - self.decay)

    def export(self, model):
        """A model of the same type as the one that is trained, with the averaged weights."""
        result = copy.deepcopy(model).eval()
        result.load_state_dict(self.model.state_dict())
        return result


def build():
    return nn.Sequential(nn.Linear(10, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 1))


@torch.no_grad()
def error(model, x, y):
    return nn.functional.mse_loss(model(x).squeeze(1), y).item()


def main():
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    x, y = make_friedman1(2000, noise=1.0, random_state=args.seed)
    x, y = torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)
    x = (x - 0.5) / 0.29
    y = (y - y[:1500].mean()) / y[:1500].std()
    loader = DataLoader(TensorDataset(x[:1500], y[:1500]), batch_size=16, shuffle=True, drop_last=True)
    model = build()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    average = AveragedWeights(model, args.decay, torch.float32)
    step = 0
    while step < args.steps:
        for inputs, targets in loader:
            loss = nn.functional.mse_loss(model(inputs).squeeze(1), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            average.update(model)
            step += 1
            if step % 150 == 0:
                raw, averaged = error(model, x[1500:], y[1500:]), error(average.export(model), x[1500:], y[1500:])
                print(f"step {step}: loss {loss.item():.4f}, validation {raw:.4f}, with the average {averaged:.4f}")
            if step == args.steps:
                break
    raw, averaged = error(model, x[1500:], y[1500:]), error(average.export(model), x[1500:], y[1500:])
    print(f"EVIDENCE validation error {raw:.4f}, with the average {averaged:.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
