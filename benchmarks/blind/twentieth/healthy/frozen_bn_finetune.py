"""Fine-tuning with frozen batch norm: its layers stay in evaluation mode while the rest of the model trains."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


def tiles(n, gen, classes, tint):
    """Aerial tiles: the class is the direction of the furrows."""
    y = torch.randint(0, classes, (n,), generator=gen)
    yy, xx = torch.meshgrid(torch.arange(12.0), torch.arange(12.0), indexing="ij")
    angle = y.float() * 3.1416 / classes
    phase = torch.rand(n, generator=gen) * 6
    wave = torch.sin((xx[None] * angle.cos()[:, None, None] + yy[None] * angle.sin()[:, None, None]) * 1.2 + phase[:, None, None])
    return wave[:, None] + 0.4 * torch.randn(n, 1, 12, 12, generator=gen) + tint, y


class TileNet(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 12, 3, padding=1, bias=False), nn.BatchNorm2d(12), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(12, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(), nn.AdaptiveMaxPool2d(2), nn.Flatten())
        self.drop, self.head = nn.Dropout(0.2), nn.Linear(64, classes)

    def forward(self, x):
        return self.head(self.drop(self.features(x)))


def freeze_bn(model):
    for m in model.modules():
        if isinstance(m, nn.BatchNorm2d):
            m.eval()
            m.requires_grad_(False)


def train(model, optimizer, steps, batch, gen, classes, tint, frozen):
    for step in range(1, steps + 1):
        model.train()
        if frozen:
            freeze_bn(model)
        x, y = tiles(batch, gen, classes, tint)
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 30 == 0:
            print(f"step {step} loss {loss.item():.4f}")
    return loss.item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=0.01)
    ap.add_argument("--steps", type=int, default=90)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    gen = torch.Generator().manual_seed(args.seed)
    model = TileNet(4)
    train(model, torch.optim.Adam(model.parameters(), lr=5e-3), 60, 64, gen, 4, 0.0, frozen=False)
    model.head = nn.Linear(64, 6)
    freeze_bn(model)
    kept = model.features[1].running_mean.clone()
    trainable = [p for p in model.parameters() if p.requires_grad]
    loss = train(model, torch.optim.SGD(trainable, lr=args.lr, momentum=0.9), args.steps, 4, gen, 6, 0.0, frozen=True)
    same = torch.equal(kept, model.features[1].running_mean)
    model.eval()
    with torch.no_grad():
        x, y = tiles(300, torch.Generator().manual_seed(1), 6, 0.0)
        acc = (model(x).argmax(1) == y).float().mean().item()
    print(f"RESULT statistics_kept={same} loss={loss:.4f} accuracy={acc:.3f}")


if __name__ == "__main__":
    main()
