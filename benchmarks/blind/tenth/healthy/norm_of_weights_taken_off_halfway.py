"""Weights have a norm and a direction in the first half; then the split is taken off and plain weights go on with another optimizer."""

import argparse

import torch
from torch import nn
from torch.nn.utils import parametrizations, parametrize

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.004)
parser.add_argument("--steps", type=int, default=240)
args = parser.parse_args()


class Net(nn.Module):
    def __init__(self, width=40):
        super().__init__()
        self.enter = parametrizations.weight_norm(nn.Conv1d(1, width, 5, padding=2))
        self.middle = parametrizations.weight_norm(nn.Conv1d(width, width, 5, padding=2, groups=4), dim=1)
        self.leave = nn.Linear(width, 3)

    def forward(self, x):
        x = nn.functional.gelu(self.enter(x))
        return self.leave(nn.functional.gelu(self.middle(x)).amax(2))

    @torch.no_grad()
    def start_from_data(self, x):
        """Gains are set so that outputs of the first layer have a deviation of one, through the parametrisation's right inverse."""
        self.enter.weight = self.enter.weight / self.enter(x).std(dim=(0, 2))[:, None, None]


def make_batch(count, length=40):
    kind = torch.randint(3, (count,))
    time = torch.arange(length) / length + torch.rand(count, 1)
    wave = torch.sin(6.28 * 3 * time)
    series = torch.where(kind[:, None] == 0, wave, torch.where(kind[:, None] == 1, wave.sign(), 2 * ((3 * time) % 1) - 1))
    return (series + 0.4 * torch.randn(count, length)).unsqueeze(1), kind


def main():
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    model = Net()
    model.start_from_data(make_batch(64)[0])
    gains = [p for name, p in model.named_parameters() if name.endswith("original0")]
    others = [p for name, p in model.named_parameters() if not name.endswith("original0")]
    optimizer = torch.optim.Adam([{"params": gains, "lr": args.lr / 4}, {"params": others}], lr=args.lr)
    for step in range(args.steps):
        if step == args.steps // 2:
            for layer in (model.enter, model.middle):
                parametrize.remove_parametrizations(layer, "weight", leave_parametrized=True)
            optimizer = torch.optim.SGD(model.parameters(), lr=5 * args.lr, momentum=0.9)
            print(f"parametrised: {parametrize.is_parametrized(model)}, {len(list(model.parameters()))} parameters")
        x, y = make_batch(32)
        with parametrize.cached():
            loss = nn.functional.cross_entropy(model(x) / 2 + model(x.flip(2)) / 2, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 40 == 0:
            print(f"step {step}: loss {loss.item():.4f}")
    x, y = make_batch(300)
    with torch.no_grad():
        print(f"{(model(x).argmax(1) == y).float().mean().item():.4f} right")


main()

# SPDX-License-Identifier: Apache-2.0
