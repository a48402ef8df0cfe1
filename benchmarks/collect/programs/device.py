# SPDX-License-Identifier: Apache-2.0
"""Models of the size that people train, on an accelerator: BENCH_MODEL is resnet50, gpt2, gpt2-compiled or llama1b.

BENCH_DEVICE is the device (default cuda), BENCH_TINY shrinks the models to what a CPU can do. Each step ends when the device has done
it, as in a script that prints its loss. The losses are kept as bits."""
import os
import struct

import torch
import torch.nn.functional as F
from meter import STEPS, Meter
from torch import nn

MODEL, DEVICE, TINY = os.environ["BENCH_MODEL"], torch.device(os.environ.get("BENCH_DEVICE", "cuda")), "BENCH_TINY" in os.environ


class Bottleneck(nn.Module):
    def __init__(self, inside, width, stride):
        super().__init__()
        outside = 4 * width
        self.layers = nn.Sequential(
            nn.Conv2d(inside, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
            nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
            nn.Conv2d(width, outside, 1, bias=False), nn.BatchNorm2d(outside))
        self.short = nn.Identity() if stride == 1 and inside == outside else nn.Sequential(
            nn.Conv2d(inside, outside, 1, stride, bias=False), nn.BatchNorm2d(outside))

    def forward(self, x):
        return F.relu(self.layers(x) + self.short(x))


def resnet(width, depths, classes=1000):
    layers = [nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    inside = width
    for stage, depth in enumerate(depths):
        for block in range(depth):
            layers.append(Bottleneck(inside, width << stage, 2 if stage and not block else 1))
            inside = 4 * (width << stage)
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inside, classes))


class Block(nn.Module):
    """Of GPT-2, or with RMSNorm, grouped queries and a gated feed-forward as Llama has them (without rotations)."""

    def __init__(self, width, heads, groups, hidden, gated):
        super().__init__()
        norm = nn.RMSNorm if gated else nn.LayerNorm
        self.heads, self.groups, self.size, self.gated = heads, groups, width // heads, gated
        self.norm1, self.norm2 = norm(width), norm(width)
        self.qkv = nn.Linear(width, (heads + 2 * groups) * self.size, bias=not gated)
        self.out = nn.Linear(width, width, bias=not gated)
        self.up, self.down = nn.Linear(width, hidden * (1 + gated), bias=not gated), nn.Linear(hidden, width, bias=not gated)

    def forward(self, x):
        b, t, width = x.shape
        parts = self.qkv(self.norm1(x)).split([self.heads * self.size, self.groups * self.size, self.groups * self.size], -1)
        q, k, v = (part.view(b, t, -1, self.size).transpose(1, 2) for part in parts)
        k, v = (y.repeat_interleave(self.heads // self.groups, 1) for y in (k, v))
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, width))
        y = self.up(self.norm2(x))
        if self.gated:
            gate, y = y.chunk(2, -1)
            return x + self.down(F.silu(gate) * y)
        return x + self.down(F.gelu(y))


class Language(nn.Module):
    def __init__(self, vocabulary, length, width, layers, heads, groups, hidden, gated):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = None if gated else nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, heads, groups, hidden, gated) for _ in range(layers))
        self.norm = (nn.RMSNorm if gated else nn.LayerNorm)(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, tokens):
        x = self.tokens(tokens)
        if self.positions is not None:
            x = x + self.positions.weight[:tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def build():
    """The model, its optimizer, and what makes a batch."""
    if MODEL == "resnet50":
        model = resnet(4, (1, 1, 1, 1)) if TINY else resnet(64, (3, 4, 6, 3))
        model, side, batch = model.to(DEVICE), 32 if TINY else 224, 4 if TINY else 128
        return model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4), lambda: (
            torch.randn(batch, 3, side, side, device=DEVICE), torch.randint(1000, (batch,), device=DEVICE))
    if MODEL == "llama1b":
        sizes = (512, 64, 64, 2, 4, 2, 128, True) if TINY else (128_256, 1024, 2048, 16, 32, 8, 8192, True)
        model, batch = Language(*sizes).to(DEVICE, torch.bfloat16), 2 if TINY else 4
    else:
        sizes = (512, 64, 64, 2, 4, 4, 256, False) if TINY else (50_257, 1024, 768, 12, 12, 12, 3072, False)
        model, batch = Language(*sizes).to(DEVICE), 2 if TINY else 16
    length, vocabulary = sizes[1], sizes[0]

    def tokens():
        found = torch.randint(vocabulary, (batch, length + 1), device=DEVICE)
        return found[:, :-1], found[:, 1:]

    return model, torch.optim.AdamW(model.parameters(), lr=3e-4, fused=DEVICE.type == "cuda"), tokens


def wait():
    if DEVICE.type == "cuda":
        torch.cuda.synchronize()


def main():
    torch.manual_seed(0)
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.backends.cudnn.benchmark = False
    meter, losses = Meter(), []
    model, optimizer, batch = build()
    called = torch.compile(model) if MODEL == "gpt2-compiled" else model
    model.train()
    for _ in range(STEPS):
        inputs, targets = batch()
        with torch.autocast(DEVICE.type, torch.bfloat16, enabled=MODEL != "llama1b"):
            loss = F.cross_entropy(called(inputs).flatten(0, targets.dim() - 1).float(), targets.flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.detach())
        wait()
        meter.tick()
    meter.write(losses=[struct.pack("<f", float(loss)).hex() for loss in losses])


if __name__ == "__main__":
    main()
