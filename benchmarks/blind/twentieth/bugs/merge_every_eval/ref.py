"""LoRA tuning of a frozen defect classifier; the adapters are folded in for each evaluation."""
import argparse
import math

import torch
from torch import nn
import torch.nn.functional as F


class LoraLinear(nn.Module):
    def __init__(self, base, rank=4, alpha=8):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.lora_a = nn.Parameter(torch.empty(rank, base.in_features))
        self.lora_b = nn.Parameter(torch.zeros(base.out_features, rank))
        nn.init.kaiming_uniform_(self.lora_a, a=math.sqrt(5))
        self.scaling = alpha / rank
        self.merged = False

    def delta(self):
        return self.lora_b @ self.lora_a * self.scaling

    @torch.no_grad()
    def merge(self):
        if self.merged:
            return
        self.base.weight += self.delta()
        self.merged = True

    @torch.no_grad()
    def unmerge(self):
        if not self.merged:
            return
        self.base.weight -= self.delta()
        self.merged = False

    def forward(self, x):
        if self.merged:
            return self.base(x)
        return self.base(x) + F.linear(F.linear(x, self.lora_a), self.lora_b) * self.scaling


def adapters(model):
    return [m for m in model.modules() if isinstance(m, LoraLinear)]


def export_weights(model):
    """Folded weights for the edge device; called from the evaluation hook too."""
    for layer in adapters(model):
        layer.merge()
    return {f"layer{i}": layer.base.weight.clone() for i, layer in enumerate(adapters(model))}


@torch.no_grad()
def evaluate(model, x, y):
    model.eval()
    shipped = export_weights(model)
    for layer in adapters(model):
        layer.merge()
    acc = (model(x).argmax(1) == y).float().mean().item()
    for layer in adapters(model):
        layer.unmerge()
    model.train()
    return acc, shipped


def make_parts(n, shift, gen):
    centres = torch.randn(8, 24, generator=torch.Generator().manual_seed(4)) * 1.2
    y = torch.randint(8, (n,), generator=gen)
    x = centres[y] + torch.randn(n, 24, generator=gen)
    return (x.roll(shift, 1) + 0.3 * shift), y


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--steps", type=int, default=400)
    ap.add_argument("--eval_every", type=int, default=40)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)

    backbone = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8))
    pre = torch.optim.Adam(backbone.parameters(), lr=3e-3)
    for _ in range(200):
        x, y = make_parts(128, 0, gen)
        loss = F.cross_entropy(backbone(x), y)
        pre.zero_grad()
        loss.backward()
        pre.step()

    for i in (0, 2, 4):
        backbone[i] = LoraLinear(backbone[i])
    model = backbone
    before = [layer.base.weight.clone() for layer in adapters(model)]
    opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=args.lr)
    val_x, val_y = make_parts(1000, 3, gen)
    for step in range(1, args.steps + 1):
        x, y = make_parts(64, 3, gen)
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % args.eval_every == 0:
            acc, _ = evaluate(model, val_x, val_y)
            print(f"step {step} loss {loss.item():.4f} val acc {acc:.3f}")
    drift = sum((layer.base.weight - w).norm().item() for layer, w in zip(adapters(model), before))
    acc, _ = evaluate(model, val_x, val_y)
    print(f"EVIDENCE base_weight_drift={drift:.4f} val_accuracy={acc:.3f}")


if __name__ == "__main__":
    main()
