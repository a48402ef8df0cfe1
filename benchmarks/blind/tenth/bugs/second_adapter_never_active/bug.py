"""One frozen base of peft with an adapter for each of two tasks, trained one after the other."""

import argparse

import torch
from peft import LoraConfig, get_peft_model
from torch import nn

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=240)
args = parser.parse_args()


class Net(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.enter, self.middle = nn.Linear(12, width), nn.Linear(width, width)
        self.leave = nn.Linear(width, 4)

    def forward(self, x):
        return self.leave(torch.tanh(self.middle(torch.tanh(self.enter(x)))))


def train(model, x, y, steps, lr):
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=lr)
    for step in range(steps):
        rows = torch.randint(len(x), (64,))
        loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 40 == 0:
            print(f"step {step}: loss {loss.item():.4f}")


@torch.no_grad()
def accuracy(model, x, y):
    return (model(x).argmax(1) == y).float().mean().item()


def size(model, name):
    return sum(p.detach().abs().sum().item() for key, p in model.named_parameters() if "lora_B" in key and f".{name}." in key)


def main():
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    x = torch.randn(1500, 12)
    tasks = {"digits": (x[:, :4] - x[:, 4:8]).argmax(1), "letters": (x[:, 8:] - x[:, 4:8].flip(1)).argmax(1)}
    base = Net()
    train(base, x, x[:, :4].argmax(1), args.steps // 3, args.lr / 2)

    config = LoraConfig(r=8, lora_alpha=16, target_modules=["enter", "middle", "leave"])
    model = get_peft_model(base, config, adapter_name="digits")
    train(model, x[:1000], tasks["digits"][:1000], args.steps // 3, args.lr)
    first = accuracy(model, x[1000:], tasks["digits"][1000:])

    model.add_adapter("letters", config)
    train(model, x[:1000], tasks["letters"][:1000], args.steps // 3, args.lr)

    model.set_adapter("digits")
    again = accuracy(model, x[1000:], tasks["digits"][1000:])
    model.set_adapter("letters")
    second = accuracy(model, x[1000:], tasks["letters"][1000:])
    print(f"EVIDENCE digits {first:.4f} before and {again:.4f} after, letters {second:.4f}, "
          f"their adapter {size(model, 'letters'):.3f}")


main()

# SPDX-License-Identifier: Apache-2.0
