"""An optimizer of its own takes orthogonalised momentum for matrices; AdamW has vectors, embeddings and the head."""

import argparse
import math

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.02)
parser.add_argument("--steps", type=int, default=80)
args = parser.parse_args()
WORDS, LENGTH, WIDTH = 16, 12, 32


def orthogonalise(matrix, rounds=5):
    x = matrix / (matrix.norm() + 1e-7)
    tall = x.shape[0] > x.shape[1]
    x = x.T if tall else x
    for _ in range(rounds):
        square = x @ x.T
        x = 1.5 * x - 0.5 * square @ x
    return x.T if tall else x


class OrthogonalMomentum(torch.optim.Optimizer):
    def __init__(self, params, lr, momentum=0.9):
        super().__init__(params, {"lr": lr, "momentum": momentum})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                buffer = self.state[p].setdefault("buffer", torch.zeros_like(p))
                buffer.lerp_(p.grad, 1 - group["momentum"])
                update = orthogonalise(p.grad.lerp(buffer, group["momentum"]))
                p.add_(update, alpha=-group["lr"] * math.sqrt(max(1.0, p.shape[0] / p.shape[1])))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(WORDS, WIDTH)
        self.mix, self.up, self.down = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 64), nn.Linear(64, WIDTH)
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS)

    def forward(self, words):
        x = self.embed(words)
        past = x.cumsum(1) / torch.arange(1, words.shape[1] + 1)[:, None]
        x = x + self.mix(past)
        return self.head(self.norm(x + self.down(torch.relu(self.up(x)).square())))


torch.manual_seed(args.seed)
torch.set_num_threads(1)
follows = torch.randperm(WORDS)
model = Model()
matrices = [p for name, p in model.named_parameters() if p.ndim == 2 and "embed" not in name and "head" not in name]
chosen = {id(p) for p in matrices}
others = [p for p in model.parameters() if id(p) not in chosen]
optimizers = [OrthogonalMomentum(matrices, lr=args.lr),
              torch.optim.AdamW(others, lr=args.lr / 5, betas=(0.8, 0.95), weight_decay=0.0)]
first = [group["lr"] for optimizer in optimizers for group in optimizer.param_groups]
for step in range(args.steps):
    share = min(1.0, 2 * (1 - step / args.steps))
    for optimizer, rate in zip(optimizers, first):
        optimizer.param_groups[0]["lr"] = rate * share
    words = [torch.randint(WORDS, (24,))]
    for _ in range(LENGTH):
        words.append(torch.where(torch.rand(24) < 0.9, follows[words[-1]], torch.randint(WORDS, (24,))))
    words = torch.stack(words, 1)
    loss = nn.functional.cross_entropy(model(words[:, :-1]).flatten(0, 1), words[:, 1:].flatten())
    loss.backward()
    for optimizer in optimizers:
        optimizer.step()
    model.zero_grad(set_to_none=True)
    if step % 20 == 19:
        print(f"step {step}: loss {loss.item():.4f}")

# SPDX-License-Identifier: Apache-2.0
