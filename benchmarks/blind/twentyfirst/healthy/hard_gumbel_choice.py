"""A gate chooses one of several filters: hard choices forward, soft ones backward; the gate is kept still at first."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


class Gated(nn.Module):
    def __init__(self, experts=4):
        super().__init__()
        self.gate = nn.Linear(6, experts)
        self.experts = nn.ModuleList(nn.Linear(6, 1) for _ in range(experts))

    def forward(self, x, tau):
        logits = self.gate(x)
        if self.training:
            choice = F.gumbel_softmax(logits, tau=tau, hard=True)
        else:
            choice = F.one_hot(logits.argmax(-1), logits.shape[-1]).float()
        return (choice * torch.cat([e(x) for e in self.experts], 1)).sum(1)


def fields(n, gen):
    w = torch.randn(4, 6, generator=torch.Generator().manual_seed(91))
    x = torch.randn(n, 6, generator=gen)
    region = (x[:, 0] > 0).long() + 2 * (x[:, 1] > 0).long()
    return x, (w[region] * x).sum(1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=0.01)
    ap.add_argument("--steps", type=int, default=300)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    net = Gated()
    groups = [{"params": net.experts.parameters()}, {"params": net.gate.parameters(), "lr": 3 * args.lr}]
    optimizer = torch.optim.Adam(groups, lr=args.lr)
    net.gate.requires_grad_(False)
    for step in range(args.steps):
        if step == args.steps // 10:
            net.gate.requires_grad_(True)
        tau = max(0.3, 2.0 * 0.99**step)
        x, y = fields(96, gen)
        loss = F.mse_loss(net(x, tau), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 60 == 0:
            print(f"step {step} tau {tau:.2f} mse {loss.item():.4f}")
    net.eval()
    x, y = fields(1000, gen)
    print(f"RESULT mse={F.mse_loss(net(x, tau), y).item():.4f}")


if __name__ == "__main__":
    main()
