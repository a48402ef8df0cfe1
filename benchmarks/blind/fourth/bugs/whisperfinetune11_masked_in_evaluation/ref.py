"""Spoken digits as spectrograms: bands of frequency and time are masked while the recogniser learns."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=3e-3)
parser.add_argument("--steps", type=int, default=48)
args = parser.parse_args()
MELS, FRAMES, DIGITS = 16, 32, 6


def spec_augment(spectrum, bands=5, frames=12):
    spectrum = spectrum.clone()
    band = torch.randint(MELS - bands, (1,)).item()
    spectrum[band:band + bands] = 0
    start = torch.randint(FRAMES - frames, (1,)).item()
    spectrum[:, start:start + frames] = 0
    return spectrum


class Speech(Dataset):
    def __init__(self, patterns, n, train):
        self.labels = torch.randint(DIGITS, (n,))
        self.spectra = patterns[self.labels] + 2.5 * torch.randn(n, MELS, FRAMES)
        self.train = train

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        spectrum = self.spectra[i]
        if self.train:
            spectrum = spec_augment(spectrum)
        return spectrum, self.labels[i]


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    losses = [nn.functional.cross_entropy(model(x), y).item() for x, y in loader]
    model.train()
    return sum(losses) / len(losses)


torch.manual_seed(args.seed)
torch.set_num_threads(1)
patterns = torch.randn(DIGITS, MELS, 1) + 0.5 * torch.randn(DIGITS, MELS, FRAMES)
train_set = Speech(patterns, 256, train=True)
val_set = Speech(patterns, 128, train=False)
train_loader = DataLoader(train_set, batch_size=16, shuffle=True, drop_last=True)
val_loader = DataLoader(val_set, batch_size=32)
model = nn.Sequential(nn.Conv1d(MELS, 32, 5, padding=2), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.1),
                      nn.Conv1d(32, 32, 5, stride=2), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(),
                      nn.Linear(32, DIGITS))
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
for epoch in range(args.steps // len(train_loader)):
    for x, y in train_loader:
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.3f}, validation {evaluate(model, val_loader):.4f}")
zeros = (next(iter(val_loader))[0] == 0).float().mean()
print(f"EVIDENCE {zeros:.3f} of the validation spectra are zero, loss {evaluate(model, val_loader):.4f}")

# SPDX-License-Identifier: Apache-2.0
