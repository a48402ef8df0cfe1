"""Two tasks on one trunk with gradient surgery: each loss runs backward on its own over the retained graph, conflicts are projected out."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


def crossings(n, gen):
    """Traffic camera features: number of cars, and whether the light is red."""
    x = torch.randn(n, 16, generator=gen)
    cars = F.softplus(x[:, 0] + 0.5 * x[:, 1] * x[:, 2])
    red = (x[:, 3] - x[:, 0] > 0).float()
    return x, cars, red


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 24), nn.ReLU())
        self.count, self.light = nn.Linear(24, 1), nn.Linear(24, 1)

    def forward(self, x):
        h = self.trunk(x)
        return self.count(h).squeeze(1), self.light(h).squeeze(1)


def project(g, other):
    dot = (g * other).sum()
    return g - dot / other.pow(2).sum().clamp_min(1e-12) * other if dot < 0 else g


def gradients(model):
    return [torch.zeros_like(p) if p.grad is None else p.grad.clone() for p in model.parameters()]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=150)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    gen = torch.Generator().manual_seed(args.seed)
    model = TwoHeads()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    conflicts = 0
    for step in range(1, args.steps + 1):
        x, cars, red = crossings(64, gen)
        pred, logit = model(x)
        loss_count = F.smooth_l1_loss(pred, cars)
        loss_light = F.binary_cross_entropy_with_logits(logit, red)
        optimizer.zero_grad()
        loss_count.backward(retain_graph=True)
        first = gradients(model)
        optimizer.zero_grad()
        loss_light.backward()
        second = gradients(model)
        flat1, flat2 = torch.cat([g.flatten() for g in first]), torch.cat([g.flatten() for g in second])
        conflicts += int((flat1 * flat2).sum() < 0)
        merged = project(flat1, flat2) + project(flat2, flat1)
        offset = 0
        for p in model.parameters():
            p.grad = merged[offset:offset + p.numel()].view_as(p).clone()
            offset += p.numel()
        optimizer.step()
        if step % 50 == 0:
            print(f"step {step} count {loss_count.item():.4f} light {loss_light.item():.4f}")
    print(f"RESULT conflicts={conflicts}/{args.steps} count={loss_count.item():.4f} light={loss_light.item():.4f}")


if __name__ == "__main__":
    main()
