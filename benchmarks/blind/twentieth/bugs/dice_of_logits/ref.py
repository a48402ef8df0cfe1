"""Ink on scroll fragments: a small volume network marks ink voxels, cross entropy plus soft dice."""
import argparse

import torch
import torch.nn as nn


def fragments(n, gen, size=10):
    """Layers of papyrus with a stroke of ink that is only a little denser than the sheet."""
    vol = 0.3 * torch.randn(n, 1, size, size, size, generator=gen)
    ink = torch.zeros(n, 1, size, size, size)
    for i in range(n):
        z, y = torch.randint(2, size - 2, (2,), generator=gen).tolist()
        ink[i, 0, z:z + 2, y:y + 2, 1:-1] = 1
    return vol + 0.9 * ink, ink


class InkNet(nn.Module):
    def __init__(self, ch=8):
        super().__init__()
        self.a = nn.Conv3d(1, ch, 3, padding=1)
        self.b = nn.Conv3d(ch, ch, 3, padding=1)
        self.head = nn.Conv3d(2 * ch, 1, 1)

    def forward(self, x):
        a = torch.relu(self.a(x))
        b = torch.relu(self.b(a))
        return self.head(torch.cat([a, b], 1))


class SoftDiceLoss(nn.Module):
    def __init__(self, apply_nonlin=None, smooth=1.0):
        super().__init__()
        self.apply_nonlin, self.smooth = apply_nonlin, smooth

    def forward(self, x, y):
        if self.apply_nonlin is not None:
            x = self.apply_nonlin(x)
        axes = (1, 2, 3, 4)
        intersect = (x * y).sum(axes)
        total = x.sum(axes) + y.sum(axes)
        return -((2 * intersect + self.smooth) / (total + self.smooth).clamp(min=1e-8)).mean()


def create_loss(name):
    if name == "bce":
        return nn.BCEWithLogitsLoss()
    if name == "dice":
        return SoftDiceLoss(apply_nonlin=torch.sigmoid)
    raise ValueError(name)


def dice_score(logits, ink):
    hit = (logits > 0).float()
    return (2 * (hit * ink).sum() / (hit.sum() + ink.sum()).clamp(min=1)).item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=5e-3)
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--losses", nargs="+", default=["bce", "dice"])
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    gen = torch.Generator().manual_seed(args.seed)
    model = InkNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    terms = {name: create_loss(name) for name in args.losses}
    lowest = 0.0
    for step in range(1, args.steps + 1):
        vol, ink = fragments(6, gen)
        logits = model(vol)
        parts = {name: fn(logits, ink) for name, fn in terms.items()}
        loss = sum(parts.values())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        lowest = min(lowest, parts.get("dice", loss).item())
        if step % 30 == 0:
            print(f"step {step} " + " ".join(f"{k} {v.item():.4f}" for k, v in parts.items()))
    with torch.no_grad():
        vol, ink = fragments(40, torch.Generator().manual_seed(321))
        score = dice_score(model(vol), ink)
    print(f"EVIDENCE lowest_dice_loss={lowest:.3f} test_dice={score:.3f}")


if __name__ == "__main__":
    main()
