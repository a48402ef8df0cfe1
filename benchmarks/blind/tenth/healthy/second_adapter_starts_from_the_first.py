"""peft: a second adapter begins as a copy of the first; only one is active, both together are evaluated as a weighted third."""

import argparse

import torch
from peft import LoraConfig, get_peft_model
from torch import nn

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=200)
args = parser.parse_args()


class Net(nn.Module):
    def __init__(self, width=40):
        super().__init__()
        self.enter, self.middle, self.leave = nn.Linear(10, width), nn.Linear(width, width), nn.Linear(width, 4)

    def forward(self, x):
        return self.leave(torch.relu(self.middle(torch.relu(self.enter(x)))))


def train(model, x, y, steps):
    parameters = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(parameters, lr=args.lr)
    for step in range(steps):
        rows = torch.randint(len(x), (40,))
        loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{steps} steps: loss {loss.item():.4f}")


@torch.no_grad()
def accuracy(model, x, y):
    return (model(x).argmax(1) == y).float().mean().item()


def main():
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    x = torch.randn(1200, 10)
    first, second = (x[:, :4] - x[:, 4:8]).argmax(1), (x[:, :4] - x[:, 4:8] + 0.8 * x[:, 8:9] * x[:, :4]).argmax(1)
    base = Net()
    train(base, x, x[:, :4].argmax(1), args.steps // 4)
    config = LoraConfig(r=6, lora_alpha=12, target_modules=["enter", "middle"], modules_to_save=None)
    model = get_peft_model(base, config, adapter_name="first")
    train(model, x[:900], first[:900], args.steps // 2)

    model.add_adapter("second", config)
    weights = dict(model.named_parameters())
    with torch.no_grad():
        for name, parameter in weights.items():
            if ".first." in name:
                weights[name.replace(".first.", ".second.")].copy_(parameter)
    model.set_adapter("second")
    train(model, x[:300], second[:300], args.steps // 4)

    model.add_weighted_adapter(["first", "second"], [0.5, 0.5], adapter_name="both", combination_type="cat")
    for name in ("first", "second", "both"):
        model.set_adapter(name)
        print(f"{name}: {accuracy(model, x[900:], first[900:]):.4f}, {accuracy(model, x[900:], second[900:]):.4f} right")
    model.set_adapter("second")
    model.delete_adapter("both")
    train(model, x[300:600], second[300:600], args.steps // 8)
    with model.disable_adapter():
        print(f"without: {accuracy(model, x[900:], second[900:]):.4f} right")
    print(f"second: {accuracy(model, x[900:], second[900:]):.4f} right")


main()

# SPDX-License-Identifier: Apache-2.0
