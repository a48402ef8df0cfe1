"""Digits by convolutions whose channels are weighed by a sigmoid, `NLLLoss` for the digit, BCE with logits for whether it is even, NAdam."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset

from options import options


class Weighed(nn.Module):
    """A convolution; how much each of its channels counts depends on the picture."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, 3, padding=1)
        self.weigh = nn.Sequential(nn.Linear(outputs, outputs // 4), nn.ReLU(), nn.Linear(outputs // 4, outputs), nn.Sigmoid())

    def forward(self, x):
        x = self.conv(x).relu()
        return x * self.weigh(x.mean((2, 3)))[:, :, None, None]


class Reader(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(Weighed(1, width), nn.MaxPool2d(2), Weighed(width, 2 * width), nn.AdaptiveAvgPool2d(2),
                                  nn.Flatten(), nn.Dropout(0.1))
        self.digit, self.even = nn.Linear(8 * width, 10), nn.Linear(8 * width, 1)

    def forward(self, x):
        x = self.body(x)
        return self.digit(x).log_softmax(1), self.even(x).squeeze(1)


def main():
    args = options(lr=3e-3, width=16, steps=90)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    digits = load_digits()
    x, y = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 16, torch.tensor(digits.target)
    train = DataLoader(TensorDataset(x[:1200], y[:1200]), batch_size=48, shuffle=True)
    test = DataLoader(TensorDataset(x[1200:], y[1200:]), batch_size=200)
    model = Reader(args.width)
    optimizer = torch.optim.NAdam(model.parameters(), lr=args.lr)
    of_digit, of_even = nn.NLLLoss(), nn.BCEWithLogitsLoss()
    step = 0
    while step < args.steps:
        model.train()
        for images, labels in train:
            log_p, even = model(images)
            loss = of_digit(log_p, labels) + 0.5 * of_even(even, (labels % 2 == 0).float())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step == args.steps:
                break
        model.eval()
        with torch.no_grad():
            error = sum(F.nll_loss(model(images)[0], labels, reduction="sum").item() for images, labels in test)
        print(f"step {step}: loss {loss.item():.3f}, held out {error / len(x[1200:]):.3f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
