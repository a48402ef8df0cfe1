"""Multi-task table model: two regressions and one classification weighted by learned log variances.
The total becomes negative when tasks are fitted well; the log variances form their own group with a
larger learning rate, no weight decay, and are not clipped together with the network."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def make_table(n, generator, weights):
    x = torch.randn(n, 10, generator=generator)
    hidden = torch.tanh(x @ weights[:10].reshape(10, 1) * 0.4).squeeze(1)
    small = 0.05 * (hidden + x[:, 1] * x[:, 2]) + 0.003 * torch.randn(n, generator=generator)
    large = hidden - 0.5 * x[:, 3].abs() + 0.05 * torch.randn(n, generator=generator)
    label = ((hidden + x[:, 4]) > 0).long()
    return x, small, large, label


class MultiTask(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(10, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU())
        self.heads = nn.ModuleDict({"small": nn.Linear(width, 1), "large": nn.Linear(width, 1),
                                    "label": nn.Linear(width, 2)})

    def forward(self, x):
        h = self.trunk(x)
        return {k: head(h) for k, head in self.heads.items()}


class UncertaintyLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.log_var = nn.ParameterDict({k: nn.Parameter(torch.zeros(())) for k in ("small", "large", "label")})

    def forward(self, losses):
        total = 0.0
        for k, value in losses.items():
            factor = 1.0 if k == "label" else 0.5
            total = total + factor * torch.exp(-self.log_var[k]) * value + 0.5 * self.log_var[k]
        return total


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=4e-3)
    parser.add_argument("--steps", type=int, default=120)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    weights = torch.randn(10, generator=gen)
    train, test = make_table(2000, gen, weights), make_table(500, gen, weights)
    loader = DataLoader(TensorDataset(*train), batch_size=128, shuffle=True)
    model, criterion = MultiTask(), UncertaintyLoss()
    optimizer = torch.optim.AdamW([
        {"params": model.parameters(), "weight_decay": 1e-3},
        {"params": criterion.parameters(), "lr": args.lr * 10, "weight_decay": 0.0},
    ], lr=args.lr)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps, eta_min=args.lr * 0.05)
    step = 0
    while step < args.steps:
        for x, small, large, label in loader:
            if step >= args.steps:
                break
            out = model(x)
            losses = {"small": F.mse_loss(out["small"].squeeze(1), small),
                      "large": F.mse_loss(out["large"].squeeze(1), large),
                      "label": F.cross_entropy(out["label"], label)}
            total = criterion(losses)
            optimizer.zero_grad()
            total.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            scheduler.step()
            if step % 20 == 0:
                print(f"step {step:3d} loss {total.item():.4f} " +
                      " ".join(f"{k}={v.item():.5f}" for k, v in losses.items()))
            step += 1
    model.eval()
    with torch.no_grad():
        x, small, large, label = test
        out = model(x)
        r2 = lambda p, t: (1 - (p.squeeze(1) - t).pow(2).sum() / (t - t.mean()).pow(2).sum()).item()
        acc = (out["label"].argmax(1) == label).float().mean().item()
        print(f"EVIDENCE r2_small={r2(out['small'], small):.4f} r2_large={r2(out['large'], large):.4f} acc={acc:.4f}")


if __name__ == "__main__":
    main()
