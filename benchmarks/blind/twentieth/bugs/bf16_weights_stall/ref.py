"""Fine-tuning of a pretrained day-ahead price model to another market, in bfloat16, with a small rate."""
import argparse
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


class PriceMixer(nn.Module):
    def __init__(self, hours=24, width=64):
        super().__init__()
        self.inp = nn.Linear(2 * hours, width)
        self.norms = nn.ModuleList([nn.LayerNorm(width) for _ in range(3)])
        self.ffs = nn.ModuleList([nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, width)) for _ in range(3)])
        self.out = nn.Linear(width, hours)

    def forward(self, x):
        h = self.inp(x)
        for norm, ff in zip(self.norms, self.ffs):
            h = h + ff(norm(h))
        return self.out(h)


def market(n, gen, peak, level):
    """Yesterday's prices and the load forecast; tomorrow follows the load with a market specific peak hour."""
    hour = torch.arange(24).float()
    load = torch.randn(n, 1, generator=gen) + torch.exp(-((hour - peak) ** 2) / 12)[None]
    past = load + 0.3 * torch.randn(n, 24, generator=gen)
    price = level + 0.7 * load + 0.4 * load.clamp(min=0) ** 2 + 0.2 * past.roll(1, 1)
    return torch.cat([past, load], 1), price


def fit(model, steps, lr, gen, peak, level, low_precision):
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.0)
    dtype = next(model.parameters()).dtype
    for step in range(steps):
        x, y = market(64, gen, peak, level)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=low_precision):
            pred = model(x.to(dtype))
        loss = F.mse_loss(pred.float(), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if (step + 1) % 50 == 0:
            print(f"step {step + 1} loss {loss.item():.4f}")
    return loss.item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=5e-5)
    ap.add_argument("--steps", type=int, default=250)
    ap.add_argument("--pretrain-steps", type=int, default=150)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    gen = torch.Generator().manual_seed(args.seed)
    base = PriceMixer()
    fit(base, args.pretrain_steps, 2e-3, gen, peak=18.0, level=0.5, low_precision=False)

    model = copy.deepcopy(base)
    fit(model, args.steps, args.lr, gen, peak=9.0, level=0.9, low_precision=True)
    start = dict(base.to(next(model.parameters()).dtype).named_parameters())
    moved, count = 0, 0
    for name, p in model.named_parameters():
        moved += int((p.detach() != start[name].detach()).sum())
        count += p.numel()
    with torch.no_grad():
        x, y = market(512, torch.Generator().manual_seed(6), 9.0, 0.9)
        mse = F.mse_loss(model.float()(x), y).item()
    print(f"EVIDENCE weights_changed={moved / count:.3f} target_mse={mse:.4f}")


if __name__ == "__main__":
    main()
