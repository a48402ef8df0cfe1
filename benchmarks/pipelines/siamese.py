"""A siamese network: pairs of digits through one encoder, a contrastive loss, cosine annealing by epochs."""

import random

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

from options import options


class PairDataset(Dataset):
    def __init__(self, images, labels, size, seed):
        rng = random.Random(seed)
        by_class = {c: [i for i, l in enumerate(labels.tolist()) if l == c] for c in range(10)}
        self.images, self.pairs = images, []
        for k in range(size):
            a = rng.randrange(10)
            b = a if k % 2 else rng.choice([c for c in range(10) if c != a])
            self.pairs.append((rng.choice(by_class[a]), rng.choice(by_class[b]), float(a == b)))

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, index):
        a, b, same = self.pairs[index]
        return self.images[a], self.images[b], torch.tensor(same)


class ContrastiveLoss(nn.Module):
    def __init__(self, margin=1.0):
        super().__init__()
        self.margin = margin

    def forward(self, z1, z2, same):
        distance = F.pairwise_distance(z1, z2)
        return (same * distance.pow(2) + (1 - same) * F.relu(self.margin - distance).pow(2)).mean()


class SiameseNetwork(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.cnn = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1), nn.ReLU(inplace=True), nn.MaxPool2d(2),
            nn.Conv2d(width, 2 * width, 3, padding=1), nn.ReLU(inplace=True), nn.Flatten(),
        )  # fmt: skip
        self.fc = nn.Linear(2 * width * 16, 16)

    def forward_once(self, x):
        return F.normalize(self.fc(self.cnn(x)), dim=1)

    def forward(self, x1, x2):
        return self.forward_once(x1), self.forward_once(x2)


def main():
    args = options(lr=2e-3, width=8, steps=48)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    digits = load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 16
    labels = torch.tensor(digits.target)
    train_loader = DataLoader(PairDataset(images[:1400], labels[:1400], 768, args.seed), batch_size=64, shuffle=True)
    val_loader = DataLoader(PairDataset(images[1400:], labels[1400:], 128, args.seed + 1), batch_size=64)
    net, criterion = SiameseNetwork(args.width), ContrastiveLoss()
    epochs = max(2, args.steps // len(train_loader))
    optimizer = torch.optim.Adam(net.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs)
    for epoch in range(epochs):
        net.train()
        for x1, x2, same in train_loader:
            z1, z2 = net(x1, x2)
            loss = criterion(z1, z2, same)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        scheduler.step()
        net.eval()
        correct = 0
        with torch.no_grad():
            for x1, x2, same in val_loader:
                z1, z2 = net(x1, x2)
                correct += ((F.pairwise_distance(z1, z2) < 0.5) == same.bool()).sum().item()
        print(f"epoch {epoch}: loss {loss.item():.3f}, val accuracy {correct / len(val_loader.dataset):.3f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
