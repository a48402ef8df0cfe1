"""A mixture of experts with a top-2 router, a balancing loss and dropout on the gates."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset

from options import options


class MoE(nn.Module):
    def __init__(self, dim, experts=4, top=2):
        super().__init__()
        self.router = nn.Linear(dim, experts, bias=False)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim)) for _ in range(experts)
        )
        self.top = top

    def forward(self, x):
        probs = torch.softmax(self.router(x), dim=-1)
        weight, index = probs.topk(self.top, dim=-1)
        weight = weight / weight.sum(-1, keepdim=True)
        out = torch.zeros_like(x)
        for e, expert in enumerate(self.experts):
            rows, slot = (index == e).nonzero(as_tuple=True)
            if len(rows):
                out = out.index_add(0, rows, weight[rows, slot, None] * expert(x[rows]))
        load = F.one_hot(index, len(self.experts)).float().mean((0, 1))
        return out, len(self.experts) * (load * probs.mean(0)).sum()


class Model(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.inp, self.moe, self.out = nn.Linear(64, dim), MoE(dim), nn.Linear(dim, 10)
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        h = F.dropout(F.relu(self.inp(x)), p=0.1, training=self.training)
        y, balance = self.moe(self.norm(h))
        return self.out(h + y), balance


def main():
    args = options(lr=3e-3, width=32, steps=44)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    digits = load_digits()
    x, y = torch.tensor(digits.data, dtype=torch.float32) / 16, torch.tensor(digits.target)
    loader = DataLoader(TensorDataset(x[:1408], y[:1408]), batch_size=64, shuffle=True)
    model = Model(args.width)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    for epoch in range(max(2, args.steps // len(loader))):
        model.train()
        for xb, yb in loader:
            logits, balance = model(xb)
            loss = F.cross_entropy(logits, yb) + 0.01 * balance
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.inference_mode():
            logits, balance = model(x[1408:])
            accuracy = (logits.softmax(dim=-1).argmax(-1) == y[1408:]).float().mean()
        print(f"epoch {epoch}: accuracy {accuracy:.3f}, balance {balance:.3f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
