"""A switch layer with a capacity: tokens over the limit are passed by, and an expert without tokens has no gradient in that step."""
import argparse

import torch
import torch.nn.functional as F
from torch import nn

DIM, EXPERTS, CAPACITY = 12, 8, 6


class Switch(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.router = nn.Linear(DIM, EXPERTS)
        self.experts = nn.ModuleList(
            [nn.Sequential(nn.Linear(DIM, hidden), nn.ReLU(), nn.Linear(hidden, DIM)) for _ in range(EXPERTS)])
        self.out = nn.Linear(DIM, 1)

    def forward(self, x):
        logits = self.router(x)
        if self.training:
            logits = logits + 0.1 * torch.randn_like(logits)         # jitter, in training only
        gate, chosen = logits.softmax(-1).max(-1)
        mixed = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            row = (chosen == number).nonzero().flatten()[:CAPACITY]
            if len(row):
                mixed = mixed.index_copy(0, row, gate[row, None] * expert(x[row]))
        share = F.one_hot(chosen, EXPERTS).float().mean(0)
        balance = EXPERTS * (share * logits.softmax(-1).mean(0)).sum()
        return self.out(x + mixed).squeeze(-1), balance


def tokens(gen, n=24):
    x = torch.randn(n, DIM, generator=gen)
    return x, torch.sin(2 * x[:, 0]) + x[:, 1].abs()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=5e-3)
    parser.add_argument("--steps", type=int, default=40)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    model = Switch()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    gen = torch.Generator().manual_seed(args.seed + 4)
    for step in range(args.steps):
        x, y = tokens(gen)
        guess, balance = model(x)
        loss = F.mse_loss(guess, y) + 0.02 * balance
        optimizer.zero_grad(set_to_none=True)        # None, so that AdamW leaves idle experts as they are
        loss.backward()
        optimizer.step()
        if (step + 1) % 10 == 0:
            idle = sum(p[0].weight.grad is None for p in model.experts)
            print(f"step {step + 1} loss {loss.item():.4f} idle experts {idle}")


if __name__ == "__main__":
    main()
