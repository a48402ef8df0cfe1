"""Mixture of experts by hard choice: an expert without rows has no gradient in that step, and its bias on the router is moved by rule."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

EXPERTS = 6


class Mixture(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.router = nn.Linear(width, EXPERTS)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(width, 24), nn.ReLU(), nn.Linear(24, 1)) for _ in range(EXPERTS))
        self.register_buffer("bias", torch.zeros(EXPERTS))

    def forward(self, x):
        scores = self.router(x).sigmoid()
        chosen = (scores + self.bias).argmax(1)
        out = torch.zeros(len(x))
        for k in chosen.unique().tolist():
            rows = (chosen == k).nonzero().squeeze(1)
            out = out.index_add(0, rows, scores[rows, k] * self.experts[k](x[rows]).squeeze(1))
        if self.training:
            load = F.one_hot(chosen, EXPERTS).float().mean(0)
            with torch.no_grad():
                self.bias += 0.01 * torch.sign(1 / EXPERTS - load)
        return out, chosen


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--steps", type=int, default=200)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    model = Mixture()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    slopes = torch.randn(4, 12, generator=torch.Generator().manual_seed(5))
    waited = 0
    for step in range(args.steps):
        x = torch.randn(12, 12)
        kind = (x[:, 0] > 0).long() * 2 + (x[:, 1] > 0).long()
        y = (x * slopes[kind]).sum(1) / 3
        guess, _ = model(x)
        loss = F.mse_loss(guess, y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        waited += sum(e[0].weight.grad is None for e in model.experts)
        optimizer.step()
        if step % 50 == 49:
            print(f"step {step + 1} loss {loss.item():.4f} waited {waited}")
    model.eval()
    _, chosen = model(torch.randn(600, 12))
    print(f"RESULT loss={loss.item():.4f} waited={waited} in_use={len(chosen.unique())}")


if __name__ == "__main__":
    main()
