"""A frozen linear model gets a low-rank update, which is merged for evaluation and taken out again for training."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=3e-3)
parser.add_argument("--steps", type=int, default=100)
args = parser.parse_args()


class LoRALinear(nn.Linear):
    def __init__(self, inputs, outputs, rank=4, alpha=8):
        super().__init__(inputs, outputs)
        self.weight.requires_grad_(False)
        self.bias.requires_grad_(False)
        self.down = nn.Parameter(torch.randn(rank, inputs) / inputs ** 0.5)
        self.up = nn.Parameter(torch.zeros(outputs, rank))
        self.scale, self.merged = alpha / rank, False

    def train(self, mode=True):
        super().train(mode)
        update = self.scale * self.up.detach() @ self.down.detach()
        if mode and self.merged:
            self.weight.data -= update
            self.merged = False
        elif not mode and not self.merged:
            self.weight.data += update
            self.merged = True
        return self

    def forward(self, x):
        output = nn.functional.linear(x, self.weight, self.bias)
        if not self.merged:
            output = output + self.scale * (x @ self.down.T @ self.up.T)
        return output


def samples(count):
    x = torch.randn(count, 16)
    return x, torch.tanh(x @ truth)


@torch.no_grad()
def evaluate(model, batches):
    model.eval()
    error = sum(nn.functional.mse_loss(model(x), y).item() for x, y in batches) / len(batches)
    model.train()
    return error


torch.manual_seed(args.seed)
torch.set_num_threads(1)
truth = torch.randn(16, 4) / 4
model = nn.Sequential(LoRALinear(16, 48), nn.GELU(), LoRALinear(48, 4))
frozen = model[0].weight.clone()
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=args.lr)
held_out = [samples(100) for _ in range(5)]
for step in range(args.steps):
    x, y = samples(32)
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 9:
        error = evaluate(model, held_out)
        print(f"step {step}: loss {loss.item():.4f}, held out {error:.4f}")
print(f"EVIDENCE the frozen weight has moved by {(model[0].weight - frozen).norm():.4f}")

# SPDX-License-Identifier: Apache-2.0
