"""Fine-tuning with frozen batch norms: the model is in train mode, its norms are in eval mode, and their weights do not learn."""
import argparse

import torch
import torch.nn.functional as F
from torch import nn

SIZE, CLASSES = 12, 4


class Backbone(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(),
                                      nn.Conv2d(width, width, 3, stride=2, padding=1), nn.BatchNorm2d(width), nn.ReLU())
        self.drop, self.head = nn.Dropout(0.1), nn.Linear(width, CLASSES)

    def forward(self, x):
        return self.head(self.drop(self.features(x).amax((2, 3))))

    def train(self, mode=True):
        super().train(mode)
        for module in self.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.eval()
                module.requires_grad_(False)
        return self


def images(gen, n=32):
    patterns = torch.randn(CLASSES, 1, SIZE, SIZE, generator=torch.Generator().manual_seed(3))
    y = torch.randint(0, CLASSES, (n,), generator=gen)
    return patterns[y] + 0.7 * torch.randn(n, 1, SIZE, SIZE, generator=gen), y


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=40)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    model = Backbone()
    gen = torch.Generator().manual_seed(args.seed + 5)
    for module in model.modules():           # statistics as a pretrained model would bring them
        if isinstance(module, nn.BatchNorm2d):
            module.momentum = None
    nn.Module.train(model)
    with torch.no_grad():
        for _ in range(5):
            model(images(gen)[0])
    model.train()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=args.lr)
    for step in range(args.steps):
        x, y = images(gen, 2)                # such small batches are why the norms are frozen
        loss = F.cross_entropy(model(x), y) / 4
        loss.backward()
        for _ in range(3):
            x, y = images(gen, 2)
            (F.cross_entropy(model(x), y) / 4).backward()
        optimizer.step()
        optimizer.zero_grad()
    model.eval()
    with torch.no_grad():
        x, y = images(gen, 300)
        print(f"accuracy {(model(x).argmax(1) == y).float().mean().item():.4f}")


if __name__ == "__main__":
    main()
