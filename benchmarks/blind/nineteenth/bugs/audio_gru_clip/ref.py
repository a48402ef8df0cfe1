"""Keyword-like audio classification: synthetic sounds -> log spectrogram -> GRU."""
import argparse
import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

SAMPLE_RATE = 4000
CLASSES = ["rising", "falling", "tremolo", "vibrato", "two_tone", "clicks"]


def synth(kind, rng, length=2000):
    t = np.arange(length) / SAMPLE_RATE
    f0 = rng.uniform(300, 700)
    if kind == "rising":
        phase = f0 * t + rng.uniform(600, 1000) * t ** 2
        wav = np.sin(2 * math.pi * phase)
    elif kind == "falling":
        phase = (f0 + 700) * t - rng.uniform(500, 700) * t ** 2
        wav = np.sin(2 * math.pi * phase)
    elif kind == "tremolo":
        wav = np.sin(2 * math.pi * f0 * t) * (0.5 + 0.5 * np.sin(2 * math.pi * rng.uniform(5, 9) * t))
    elif kind == "vibrato":
        wav = np.sin(2 * math.pi * f0 * t + 12 * np.sin(2 * math.pi * rng.uniform(4, 7) * t))
    elif kind == "two_tone":
        half = length // 2
        freq = np.where(np.arange(length) < half, f0, f0 * 1.6)
        wav = np.sin(2 * math.pi * np.cumsum(freq) / SAMPLE_RATE)
    else:
        wav = np.zeros(length)
        wav[rng.integers(0, length, size=12)] = 4.0
    wav = wav * rng.uniform(0.3, 1.0) + rng.normal(0, 0.25, size=length)
    return wav.astype(np.float32)


class SoundDataset(Dataset):
    def __init__(self, size, seed):
        rng = np.random.default_rng(seed)
        self.labels = rng.integers(0, len(CLASSES), size=size)
        self.waves = np.stack([synth(CLASSES[k], rng) for k in self.labels])

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return torch.from_numpy(self.waves[index]), int(self.labels[index])


class LogSpectrogram(nn.Module):
    def __init__(self, n_fft=128, hop=50):
        super().__init__()
        self.n_fft, self.hop = n_fft, hop
        self.register_buffer("window", torch.hann_window(n_fft))

    def forward(self, wav):
        spec = torch.stft(wav, self.n_fft, self.hop, window=self.window, return_complex=True)
        return torch.log(spec.abs() ** 2 + 1e-4).transpose(1, 2)


class KeywordNet(nn.Module):
    def __init__(self, n_bins=65, hidden=64):
        super().__init__()
        self.frontend = LogSpectrogram()
        self.rnn = nn.GRU(n_bins, hidden, batch_first=True)
        self.head = nn.Linear(hidden, len(CLASSES))

    def forward(self, wav):
        feats = self.frontend(wav)
        states, _ = self.rnn(feats)
        return self.head(states[:, -1])


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    hits, count, nll = 0, 0, 0.0
    for wav, label in loader:
        logits = model(wav)
        hits += (logits.argmax(1) == label).sum().item()
        nll += F.cross_entropy(logits, label, reduction="sum").item()
        count += len(label)
    return hits / count, nll / count


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=1.0)
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--max-grad-norm", type=float, default=0.25)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    train_loader = DataLoader(SoundDataset(640, args.seed), batch_size=32, shuffle=True)
    test_loader = DataLoader(SoundDataset(240, args.seed + 1000), batch_size=120)

    model = KeywordNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=args.lr, total_steps=args.steps)

    step = 0
    while step < args.steps:
        model.train()
        for wav, label in train_loader:
            if step >= args.steps:
                break
            optimizer.zero_grad()
            loss = F.cross_entropy(model(wav), label)
            loss.backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), args.max_grad_norm)
            optimizer.step()
            scheduler.step()
            if step % 15 == 0:
                print(f"step {step:4d} loss {loss.item():.4f} grad norm {norm.item():.3f}")
            step += 1

    acc, nll = evaluate(model, test_loader)
    print(f"EVIDENCE test_accuracy={acc:.4f} test_nll={nll:.4f}")


if __name__ == "__main__":
    main()
