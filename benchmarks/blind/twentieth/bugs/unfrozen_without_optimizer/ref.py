"""Fine-tuning for plant disease spectra: the encoder is frozen at first and joins the training after some epochs."""
import argparse
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

BANDS = 40


def spectra(n, gen, classes, shift):
    grid = torch.linspace(0, 1, BANDS)[None]
    label = torch.randint(0, classes, (n,), generator=gen)
    centre = 0.15 + 0.7 * label[:, None] / classes + shift
    dip = torch.exp(-((grid - centre) ** 2) / 0.006)
    return 1 - 0.5 * dip + 0.12 * torch.randn(n, BANDS, generator=gen), label


class SpectraNet(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv1d(1, 8, 7, padding=3), nn.ReLU(), nn.MaxPool1d(2), nn.Conv1d(8, 8, 5, padding=2), nn.ReLU(),
            nn.Flatten(), nn.Linear(160, 12), nn.Tanh())
        self.head = nn.Linear(12, classes)

    def forward(self, x):
        return self.head(self.encoder(x[:, None]))


class FreezeUnfreeze:
    """Freezes a module until an epoch; then its parameters become a new group with a tenth of the rate."""

    def __init__(self, module, unfreeze_at, lr_factor=0.3):
        self.module, self.unfreeze_at, self.lr_factor = module, unfreeze_at, lr_factor
        module.requires_grad_(False)

    def on_epoch_start(self, epoch, optimizer):
        if epoch != self.unfreeze_at:
            return
        self.module.requires_grad_(True)
        lr = optimizer.param_groups[0]["lr"] * self.lr_factor
        optimizer.add_param_group({"params": list(self.module.parameters()), "lr": lr})


def pretrain(model, gen, steps=120):
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(steps):
        x, y = spectra(64, gen, 3, 0.0)
        opt.zero_grad()
        F.cross_entropy(model(x), y).backward()
        opt.step()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=0.01)
    ap.add_argument("--steps", type=int, default=240)
    ap.add_argument("--unfreeze-epoch", type=int, default=2)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    gen = torch.Generator().manual_seed(args.seed)
    model = SpectraNet(3)
    pretrain(model, gen)
    model.head = nn.Linear(12, 8)
    callback = FreezeUnfreeze(model.encoder, args.unfreeze_epoch)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=args.lr, weight_decay=1e-3)
    before = copy.deepcopy(model.encoder.state_dict())
    per_epoch = max(1, args.steps // 8)
    for epoch in range(8):
        callback.on_epoch_start(epoch, optimizer)
        for _ in range(per_epoch):
            x, y = spectra(48, gen, 8, 0.04)
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} loss {loss.item():.4f}")
    moved = max((p - before[k]).abs().max().item() for k, p in model.encoder.state_dict().items())
    with torch.no_grad():
        x, y = spectra(500, torch.Generator().manual_seed(9), 8, 0.04)
        acc = (model(x).argmax(1) == y).float().mean().item()
    print(f"EVIDENCE encoder_moved={moved:.5f} accuracy={acc:.3f}")


if __name__ == "__main__":
    main()
