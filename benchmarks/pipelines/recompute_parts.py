"""`checkpoint_sequential` over a deep network in two parts, with re-entrant backwards, under bfloat16 autocast."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.checkpoint import checkpoint_sequential
from torch.utils.data import DataLoader, TensorDataset

from options import options


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        return x + self.drop(self.down(F.silu(self.up(self.norm(x)))))


class Net(nn.Module):
    def __init__(self, width, depth=4):
        super().__init__()
        self.stem, self.head = nn.Linear(64, width), nn.Linear(width, 10)
        self.trunk = nn.Sequential(*(Residual(width) for _ in range(depth)))

    def forward(self, x):
        x = self.stem(x)
        x = checkpoint_sequential(self.trunk, 2, x, use_reentrant=True) if self.training else self.trunk(x)
        return self.head(x)


def accuracy(net, x, y):
    net.eval()
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        return (net(x).argmax(1) == y).float().mean().item()


def main():
    args = options(lr=2e-3, width=48, steps=60)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    digits = load_digits()
    x, y = torch.tensor(digits.data, dtype=torch.float32) / 16, torch.tensor(digits.target)
    loader = DataLoader(TensorDataset(x[:960], y[:960]), batch_size=48, shuffle=True)
    net = Net(args.width)
    optimizer = torch.optim.Adam(net.parameters(), lr=args.lr)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.7)
    for epoch in range(max(1, args.steps // len(loader))):
        net.train()
        for images, labels in loader:
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = F.cross_entropy(net(images), labels)
            loss.backward()
            optimizer.step()
        schedule.step()
        print(f"epoch {epoch}: loss {loss.item():.3f}, accuracy {accuracy(net, x[960:1400], y[960:1400]):.3f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
