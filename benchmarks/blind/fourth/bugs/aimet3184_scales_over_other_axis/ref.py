"""A transformer's feed-forward part is trained with its weights quantised to few bits, a scale for each output."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=3e-3)
parser.add_argument("--steps", type=int, default=80)
args = parser.parse_args()
BITS, WIDTH = 4, 32


class Quantise(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale, top):
        ctx.save_for_backward((x / scale).abs() <= top)
        return (x / scale).round().clamp(-top, top) * scale

    @staticmethod
    def backward(ctx, grad):
        inside, = ctx.saved_tensors
        return grad * inside, None, None


class QuantisedMatmul(nn.Module):
    """y = x W with a weight of shape (inputs, outputs), as in GPT-2's layers."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(inputs, outputs) * inputs ** -0.5 * (0.1 + 3 * torch.rand(1, outputs) ** 2))
        self.bias = nn.Parameter(torch.zeros(outputs))

    def quantised(self):
        top = 2 ** (BITS - 1) - 1
        scale = self.weight.detach().abs().amax(0, keepdim=True) / top
        return Quantise.apply(self.weight, scale.clamp(min=1e-8), top)

    def forward(self, x):
        return x @ self.quantised() + self.bias


class Model(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.up, self.down = QuantisedMatmul(WIDTH, WIDTH), QuantisedMatmul(WIDTH, WIDTH)
        self.head = nn.Linear(WIDTH, classes)

    def forward(self, x):
        return self.head(x + self.down(nn.functional.gelu(self.up(self.norm(x)))))


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    right = sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
    model.train()
    return right / len(loader.dataset)


torch.manual_seed(args.seed)
torch.set_num_threads(1)
x = torch.randn(768, WIDTH)
y = (x @ torch.randn(WIDTH, 5) + (x @ torch.randn(WIDTH, 5)).abs()).argmax(1)
train = DataLoader(TensorDataset(x[:512], y[:512]), batch_size=32, shuffle=True)
val = DataLoader(TensorDataset(x[512:], y[512:]), batch_size=64)
model = Model(5)
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
for epoch in range(args.steps // len(train)):
    for a, b in train:
        loss = nn.functional.cross_entropy(model(a), b)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.3f}, accuracy {evaluate(model, val):.3f}")
error = ((model.up.quantised() - model.up.weight).norm(dim=0) / model.up.weight.norm(dim=0)).mean().item()
print(f"EVIDENCE quantisation error of an output's weights {error:.4f}, last loss {loss.item():.4f}")

# SPDX-License-Identifier: Apache-2.0
