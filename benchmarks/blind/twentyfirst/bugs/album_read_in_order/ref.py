"""Stamps sorted by country: rows lie in the album country by country, crops and flips are drawn for each look."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

COUNTRIES, EACH, SIZE = 6, 40, 20


class RandomCropFlip:
    """Has a generator of its own, so that the order of rows does not change what is drawn."""

    def __init__(self, size, seed):
        self.size, self.seed = size, seed
        self.gen = torch.Generator().manual_seed(seed)
        self.log = []

    def start_epoch(self, epoch):
        self.gen.manual_seed(self.seed + 1000 * epoch)
        self.log.append([])

    def __call__(self, image):
        room = image.shape[-1] - self.size
        top, left, flip = torch.randint(0, 1 << 16, (3,), generator=self.gen).tolist()
        self.log[-1].append((top, left, flip))
        top, left = top % (room + 1), left % (room + 1)
        crop = image[:, top:top + self.size, left:left + self.size]
        return crop.flip(-1) if flip % 2 else crop


class Album(Dataset):
    def __init__(self, transform, seed=61):
        g = torch.Generator().manual_seed(seed)
        patterns = F.interpolate(torch.randn(COUNTRIES, 1, 5, 5, generator=g), size=SIZE, mode="bilinear")
        self.country = torch.arange(COUNTRIES).repeat_interleave(EACH)
        self.images = patterns[self.country] + 0.9 * torch.randn(COUNTRIES * EACH, 1, SIZE, SIZE, generator=g)
        self.transform = transform

    def __len__(self):
        return len(self.country)

    def __getitem__(self, i):
        return self.transform(self.images[i]), self.country[i]


class StampNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(1, 12, 3, padding=1), nn.BatchNorm2d(12)
        self.conv2, self.bn2 = nn.Conv2d(12, 24, 3, stride=2, padding=1), nn.BatchNorm2d(24)
        self.out = nn.Linear(24, COUNTRIES)

    def forward(self, x):
        x = F.relu(self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))))
        return self.out(x.mean((2, 3)))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=4e-3)
    ap.add_argument("--steps", type=int, default=90)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    transform = RandomCropFlip(16, args.seed)
    album = Album(transform)
    loader = DataLoader(album, batch_size=24, shuffle=True, generator=torch.Generator().manual_seed(args.seed))
    net = StampNet()
    optimizer = torch.optim.SGD(net.parameters(), lr=10 * args.lr, momentum=0.9, weight_decay=1e-4)
    kinds, epoch, step = 0.0, 0, 0
    while step < args.steps:
        transform.start_epoch(epoch)
        for images, country in loader:
            loss = F.cross_entropy(net(images), country)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            kinds += len(country.unique()) / args.steps
            step += 1
        epoch += 1
        if epoch % 3 == 0:
            print(f"epoch {epoch} loss {loss.item():.4f}")
    net.eval()
    transform.start_epoch(epoch)
    with torch.no_grad():
        held = Album(transform)
        held.images = held.images + 0.5 * torch.randn(held.images.shape, generator=torch.Generator().manual_seed(5))
        x, y = next(iter(DataLoader(held, batch_size=len(held))))
        right = (net(x).argmax(1) == y).float().mean().item()
    again = transform.log[0][:50] == transform.log[1][:50]
    print(f"EVIDENCE countries_per_batch={kinds:.3f} same_crops_again={again} accuracy={right:.3f}")


if __name__ == "__main__":
    main()
