"""Low-rank adapters of peft in rounds: after each the update is merged and new adapters begin with a new optimizer."""

import argparse
import warnings

import torch
from peft import LoraConfig, get_peft_model
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=72)
args = parser.parse_args()
ROUNDS = 3


class Net(nn.Module):
    def __init__(self, width=40):
        super().__init__()
        self.first, self.second = nn.Linear(12, width), nn.Linear(width, width)
        self.head = nn.Linear(width, 4)

    def forward(self, x):
        return self.head(self.second(self.first(x).relu()).relu())


def with_adapters(model, number):
    config = LoraConfig(r=2 + number, lora_alpha=8, target_modules=["first", "second"], modules_to_save=["head"],
                        lora_dropout=0.05)
    return get_peft_model(model, config)


def fit(model, x, y, steps):
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=args.lr)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 5))
    for _ in range(steps):
        index = torch.randint(len(x), (32,))
        loss = nn.functional.cross_entropy(model(x[index]), y[index])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
    return loss.item(), sum(p.numel() for p in trained)


warnings.simplefilter("ignore")
torch.manual_seed(args.seed)
torch.set_num_threads(1)
x = torch.randn(600, 12)
y = (x.abs() @ torch.randn(12, 4)).argmax(1)
model = Net()
for number in range(ROUNDS):
    adapted = with_adapters(model, number)
    loss, trained = fit(adapted, x, y, args.steps // ROUNDS)
    adapted.eval()
    with torch.no_grad():
        before = adapted(x)
        model = adapted.merge_and_unload()
        after = model(x)
    model.train()
    print(f"round {number}: loss {loss:.4f}, {trained} numbers trained, merging changed {(before - after).abs().max():.1e}")
right = (after.argmax(1) == y).float().mean().item()
print(f"{right:.3f} are right")

# SPDX-License-Identifier: Apache-2.0
