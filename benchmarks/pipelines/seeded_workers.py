"""SimCLR-like pretraining: two random views made in DataLoader workers, random and numpy seeded for each worker."""

import random

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, Dataset

from options import options


class TwoViews(Dataset):
    def __init__(self, images):
        self.images = images

    def __len__(self):
        return len(self.images)

    def view(self, image):
        image = np.roll(image, (random.randint(-1, 1), random.randint(-1, 1)), axis=(0, 1))
        return torch.from_numpy((image + np.random.normal(0, 0.1, image.shape)).astype(np.float32)).flatten()

    def __getitem__(self, i):
        return self.view(self.images[i]), self.view(self.images[i])


def seed_worker(worker_id):
    seed = torch.initial_seed() % 2**32
    np.random.seed(seed)
    random.seed(seed)


def nt_xent(z1, z2, temperature=0.5):
    z = F.normalize(torch.cat([z1, z2]), dim=-1)
    sim = (z @ z.T / temperature).masked_fill(torch.eye(len(z), dtype=torch.bool), -1e9)
    n = len(z1)
    target = torch.cat([torch.arange(n, 2 * n), torch.arange(n)])
    return F.cross_entropy(sim, target)


def pretrain(encoder, projector, loader, args):
    params = [*encoder.parameters(), *projector.parameters()]
    optimizer = torch.optim.SGD(params, lr=args.lr, momentum=0.9, weight_decay=1e-4)
    epochs = max(1, args.steps // 2 // len(loader))
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs)
    for epoch in range(epochs):
        for v1, v2 in loader:
            loss = nt_xent(projector(encoder(v1)), projector(encoder(v2)))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        scheduler.step()
        print(f"pretraining, epoch {epoch}: loss {loss.item():.3f}")


def probe(encoder, x, y, args):
    encoder.eval()
    for p in encoder.parameters():
        p.requires_grad_(False)
    with torch.no_grad():
        z = encoder(x)
    head = nn.Linear(z.shape[1], 10)
    optimizer = torch.optim.Adam(head.parameters(), lr=0.05)
    for _ in range(args.steps // 2):
        optimizer.zero_grad()
        F.cross_entropy(head(z[:1400]), y[:1400]).backward()
        optimizer.step()
    with torch.no_grad():
        return (head(z[1400:]).argmax(1) == y[1400:]).float().mean().item()


def main():
    args = options(lr=0.1, width=48, steps=44)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    digits = load_digits()
    generator = torch.Generator().manual_seed(args.seed)
    loader = DataLoader(
        TwoViews(digits.images[:1400] / 16), batch_size=128, shuffle=True, drop_last=True, num_workers=2,
        worker_init_fn=seed_worker, generator=generator,
    )  # fmt: skip
    encoder = nn.Sequential(nn.Linear(64, args.width), nn.BatchNorm1d(args.width), nn.ReLU(), nn.Linear(args.width, 32))
    projector = nn.Sequential(nn.ReLU(), nn.Linear(32, 16))
    pretrain(encoder, projector, loader, args)
    x, y = torch.tensor(digits.data, dtype=torch.float32) / 16, torch.tensor(digits.target)
    print(f"accuracy of the probe {probe(encoder, x, y, args):.3f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
