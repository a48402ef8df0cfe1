"""Small residual net on noisy digits, SGD with warmup and one cosine decay."""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset


class ResBlock(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.conv1 = nn.Conv2d(c, c, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(c)
        self.conv2 = nn.Conv2d(c, c, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(c)

    def forward(self, x):
        h = F.relu(self.bn1(self.conv1(x)))
        return F.relu(x + self.bn2(self.conv2(h)))


class ResNet(nn.Module):
    def __init__(self, c=12, num_classes=10):
        super().__init__()
        self.stem = nn.Conv2d(1, c, 3, padding=1)
        self.layer1 = ResBlock(c)
        self.down = nn.Conv2d(c, 2 * c, 2, stride=2)
        self.layer2 = ResBlock(2 * c)
        self.fc = nn.Linear(2 * c, num_classes)

    def forward(self, x):
        x = self.layer1(F.relu(self.stem(x)))
        x = self.layer2(F.relu(self.down(x)))
        return self.fc(x.mean((2, 3)))


def get_cosine_schedule_with_warmup(optimizer, num_warmup_steps, num_training_steps):
    def lr_lambda(step):
        if step < num_warmup_steps:
            return (step + 1) / max(1, num_warmup_steps)
        progress = (step - num_warmup_steps) / max(1, num_training_steps - num_warmup_steps)
        return max(0.0, 0.5 * (1.0 + math.cos(math.pi * progress)))

    return torch.optim.lr_scheduler.LambdaLR(optimizer, lr_lambda)


def build_scheduler(optimizer, epochs, steps_per_epoch):
    max_steps = epochs * steps_per_epoch
    return get_cosine_schedule_with_warmup(optimizer, num_warmup_steps=2, num_training_steps=max_steps)


def make_loaders(seed, batch_size):
    d = load_digits()
    gen = torch.Generator().manual_seed(seed)
    x = torch.tensor(d.images, dtype=torch.float32)[:, None] / 16.0
    x = x + 0.25 * torch.randn(x.shape, generator=gen)
    y = torch.tensor(d.target)
    perm = torch.randperm(len(x), generator=gen)
    tr, te = perm[:1200], perm[1200:]
    train = DataLoader(TensorDataset(x[tr], y[tr]), batch_size=batch_size, shuffle=True, drop_last=True)
    test = DataLoader(TensorDataset(x[te], y[te]), batch_size=256)
    return train, test


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    right, nll, n = 0, 0.0, 0
    for x, y in loader:
        logits = model(x)
        right += (logits.argmax(1) == y).sum().item()
        nll += F.cross_entropy(logits, y, reduction="sum").item()
        n += len(y)
    model.train()
    return right / n, nll / n


def train(model, loader, optimizer, scheduler, epochs):
    for epoch in range(epochs):
        running = 0.0
        for x, y in loader:
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            running += loss.item()
        print(f"epoch {epoch + 1} loss {running / len(loader):.4f}")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--lr", type=float, default=0.2)
    p.add_argument("--steps", type=int, default=108)
    p.add_argument("--batch-size", type=int, default=64)
    args = p.parse_args()
    torch.manual_seed(args.seed)

    train_loader, test_loader = make_loaders(args.seed, args.batch_size)
    epochs = max(1, round(args.steps / len(train_loader)))
    model = ResNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=5e-4)
    scheduler = build_scheduler(optimizer, epochs, len(train_loader))
    train(model, train_loader, optimizer, scheduler, epochs)

    acc, nll = evaluate(model, test_loader)
    print(f"EVIDENCE test_acc={acc:.4f} test_nll={nll:.4f} last_lr={scheduler.get_last_lr()[0]:.2e}")


if __name__ == "__main__":
    main()
