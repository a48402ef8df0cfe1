"""An adapter of peft is trained, saved, loaded into a new model and trained further on another part of the data."""

import argparse
import copy
import tempfile

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from torch import nn

def get_args():
    parser = argparse.ArgumentParser(description=__doc__)
    for name, kind, default in (("--seed", int, 0), ("--lr", float, 0.01), ("--steps", int, 120)):
        parser.add_argument(name, type=kind, default=default)
    return parser.parse_args()


args = get_args()


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(10, 48), nn.Linear(48, 48)

    def forward(self, x):
        return torch.tanh(self.second(torch.relu(self.first(x))))


def train(encoder, head, x, y, steps):
    parameters = [p for p in [*encoder.parameters(), *head.parameters()] if p.requires_grad]
    optimizer = torch.optim.AdamW(parameters, lr=args.lr)
    for step in range(1, steps + 1):
        rows = torch.randint(len(x), (48,))
        loss = nn.functional.cross_entropy(head(encoder(x[rows])), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 30 == 0:
            print(f"step {step}: loss {loss.item():.4f}")


def accuracy(encoder, head, x, y):
    with torch.no_grad():
        return (head(encoder(x)).argmax(1) == y).float().mean().item()


torch.manual_seed(args.seed)
torch.set_num_threads(1)
x = torch.randn(900, 10)
y = (x[:, :4] + x[:, 4:8] * x[:, 8:9]).argmax(1)
base, head = Encoder(), nn.Linear(48, 4)
config = LoraConfig(r=8, lora_alpha=16, target_modules=["first", "second"])
encoder = get_peft_model(copy.deepcopy(base), config)
train(encoder, head, x[:100], y[:100], args.steps // 3)
with tempfile.TemporaryDirectory() as folder:
    encoder.save_pretrained(folder)
    encoder = PeftModel.from_pretrained(copy.deepcopy(base), folder, is_trainable=True)
encoder.train()
before = {name: p.detach().clone() for name, p in encoder.named_parameters() if "lora" in name}
train(encoder, head, x[:700], y[:700], args.steps)
moved = sum((p.detach() - before[name]).abs().sum() for name, p in encoder.named_parameters() if name in before).item()
print(f"EVIDENCE the adapter moved by {moved:.4f}, {accuracy(encoder, head, x[700:], y[700:]):.4f} right")

# SPDX-License-Identifier: Apache-2.0
