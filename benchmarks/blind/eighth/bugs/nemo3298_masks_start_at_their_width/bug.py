"""Spoken commands as small spectra: bands of time are masked while training."""
import argparse

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

BANDS, FRAMES = 12, 40


class SpecAugment(nn.Module):
    """Each utterance gets a few masks in time, of random width, anywhere within its length."""

    def __init__(self, masks=2, width=0.3):
        super().__init__()
        self.masks, self.width = masks, width
        self.covered = torch.zeros(FRAMES)

    @torch.no_grad()
    def forward(self, spec, lengths):
        if not self.training:
            return spec
        spec = spec.clone()
        for i, length in enumerate(lengths.tolist()):
            widest = max(1, int(length * self.width))
            time_starts, time_lengths = [], []
            for _ in range(self.masks):
                time_lengths.append(torch.randint(1, widest + 1, (1,)))
                time_starts.append(torch.randint(0, max(1, length - widest), (1,)))
            time_starts, time_lengths = torch.cat(time_lengths, 0), torch.cat(time_lengths, 0)
            for start, span in zip(time_starts.tolist(), time_lengths.tolist()):
                spec[i, :, start:start + span] = 0.0
                self.covered[start:start + span] += 1
        return spec


class Commands(Dataset):
    """A sweep up or down somewhere in the noise; the class is its direction and band."""

    def __init__(self, count):
        self.items = []
        for _ in range(count):
            label, length = int(torch.randint(6, ())), int(torch.randint(24, FRAMES + 1, ()))
            spec = 0.3 * torch.randn(BANDS, length)
            begin = int(torch.randint(0, length - 16, ()))
            for t in range(16):
                rise = t // 5
                spec[2 + 3 * (label % 3) + (rise if label < 3 else 3 - rise), begin + t] += 2.0
            self.items.append((spec, label))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        return self.items[index]


def pad_collate(batch):
    lengths = torch.tensor([spec.shape[1] for spec, _ in batch])
    padded = torch.zeros(len(batch), BANDS, FRAMES)
    for i, (spec, _) in enumerate(batch):
        padded[i, :, :spec.shape[1]] = spec
    return padded, lengths, torch.tensor([label for _, label in batch])


class Spotter(nn.Module):
    def __init__(self):
        super().__init__()
        self.augment = SpecAugment()
        self.convs = nn.Sequential(nn.Conv1d(BANDS, 32, 5, padding=2), nn.ReLU(), nn.Conv1d(32, 32, 5, padding=2), nn.ReLU())
        self.head = nn.Linear(32, 6)

    def forward(self, spec, lengths):
        return self.head(self.convs(self.augment(spec, lengths)).amax(2))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=120)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    train = DataLoader(Commands(480), batch_size=24, shuffle=True, collate_fn=pad_collate)
    valid = DataLoader(Commands(200), batch_size=50, collate_fn=pad_collate)
    model = Spotter()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    step = 0
    while step < args.steps:
        model.train()
        for spec, lengths, labels in train:
            loss = nn.functional.cross_entropy(model(spec, lengths), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step >= args.steps:
                break
        model.eval()
        with torch.no_grad():
            right = sum((model(s, n).argmax(1) == y).sum().item() for s, n, y in valid) / 200
        print(f"step {step}: loss {loss.item():.4f}, right {right:.3f}")
    share = model.augment.covered / model.augment.covered.sum()
    print(f"EVIDENCE right {right:.4f}; of all that was masked {share[20:].sum().item():.4f} lies in the second half")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
