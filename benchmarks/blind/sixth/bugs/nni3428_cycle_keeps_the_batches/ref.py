"""Two loaders: few labelled samples and many without labels, whose predictions shall not depend on noise."""

import argparse
import itertools

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.003)
parser.add_argument("--steps", type=int, default=120)
args = parser.parse_args()
CLASSES = 4


class Unlabelled(Dataset):
    """A sample and a noisy view of it."""

    def __init__(self, x):
        self.x = x
        self.views = []

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        x = self.x[index]
        noise = 0.5 * torch.randn_like(x)
        self.views.append(round(noise[0].item(), 5))
        return x, x + noise


def endless(loader):
    while True:
        yield from loader


def blobs(centres, count):
    y = torch.randint(CLASSES, (count,))
    return centres[y] + torch.randn(count, centres.shape[1]), y


def consistency(model, x, view):
    with torch.no_grad():
        target = model(x).softmax(-1)
    return nn.functional.kl_div(model(view).log_softmax(-1), target, reduction="batchmean")


def main():
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    centres = 1.2 * torch.randn(CLASSES, 16)
    labelled = DataLoader(TensorDataset(*blobs(centres, 64)), batch_size=16, shuffle=True, drop_last=True)
    pool = Unlabelled(blobs(centres, 320)[0])
    unlabelled = endless(DataLoader(pool, batch_size=32, shuffle=True))
    supply = itertools.chain.from_iterable(labelled for _ in itertools.count())
    valid_x, valid_y = blobs(centres, 400)
    model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, CLASSES))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    for step in range(args.steps):
        x, y = next(supply)
        plain, view = next(unlabelled)
        supervised = nn.functional.cross_entropy(model(x), y)
        loss = supervised + 0.5 * consistency(model, plain, view)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 30 == 29:
            model.eval()
            with torch.no_grad():
                right = (model(valid_x).argmax(-1) == valid_y).float().mean().item()
            model.train()
            print(f"step {step + 1}: loss {loss.item():.4f}, right {right:.3f}")
    print(f"EVIDENCE {len(set(pool.views))} noisy views were made in {args.steps} steps, loss {loss.item():.4f}")


main()

# SPDX-License-Identifier: Apache-2.0
