"""A small mixer for sensor tables. Layers say themselves which of their weights are to be decayed."""
import argparse

import torch
import torch.nn.functional as F
from torch import nn


def parameter(tensor, weight_decay=True):
    """A parameter that knows whether it is decayed; the optimizer's groups are made of this mark."""
    p = nn.Parameter(tensor)
    p.param_weight_decay = weight_decay
    return p


class Affine(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = parameter(torch.randn(outputs, inputs) * inputs ** -0.5)
        self.bias = parameter(torch.zeros(outputs), weight_decay=False)

    def forward(self, x):
        return F.linear(x, self.weight, self.bias)


class RMSNorm(nn.Module):
    def __init__(self, width, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = parameter(torch.ones(width), weight_decay=False)

    def forward(self, x):
        return F.rms_norm(x, x.shape[-1:], self.weight, self.eps)


class MixerBlock(nn.Module):
    def __init__(self, tokens, width):
        super().__init__()
        self.norm1, self.norm2 = RMSNorm(width), RMSNorm(width)
        self.across, self.back = Affine(tokens, 2 * tokens), Affine(2 * tokens, tokens)
        self.up, self.down = Affine(width, 2 * width), Affine(2 * width, width)

    def forward(self, x):
        x = x + self.back(F.gelu(self.across(self.norm1(x).transpose(1, 2)))).transpose(1, 2)
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Mixer(nn.Module):
    def __init__(self, tokens=10, features=4, width=32, depth=3):
        super().__init__()
        self.inp = Affine(features, width)
        self.blocks = nn.Sequential(*(MixerBlock(tokens, width) for _ in range(depth)))
        self.norm, self.out = RMSNorm(width), Affine(width, 5)

    def forward(self, x):
        return self.out(self.norm(self.blocks(self.inp(x))).mean(1))


def param_groups(model, weight_decay):
    decayed = [p for p in model.parameters() if p.param_weight_decay]
    free = [p for p in model.parameters() if not p.param_weight_decay]
    return [{"params": decayed, "weight_decay": weight_decay}, {"params": free, "weight_decay": 0.0}]


def batch(gen, size=64):
    x = torch.randn(size, 10, 4, generator=gen)
    score = torch.stack([(x[:, k] * x[:, k + 5]).sum(-1) for k in range(5)], dim=1)
    return x, score.argmax(1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=4e-3)
    ap.add_argument("--steps", type=int, default=250)
    ap.add_argument("--weight-decay", type=float, default=0.5)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    model = Mixer()
    optimizer = torch.optim.AdamW(param_groups(model, args.weight_decay), lr=args.lr, betas=(0.9, 0.98))
    gen = torch.Generator().manual_seed(args.seed)
    for step in range(args.steps):
        x, y = batch(gen)
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print(f"step {step} loss {loss.item():.4f}")
    gains = torch.cat([m.weight.detach() for m in model.modules() if isinstance(m, RMSNorm)])
    x, y = batch(torch.Generator().manual_seed(70), 1000)
    with torch.no_grad():
        test = F.cross_entropy(model(x), y).item()
    print(f"EVIDENCE mean_gain={gains.mean().item():.4f} free={len(optimizer.param_groups[1]['params'])} test={test:.4f}")


if __name__ == "__main__":
    main()
