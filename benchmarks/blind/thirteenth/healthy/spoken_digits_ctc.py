"""Speech: strings of synthetic spoken digits, log-mel features, SpecAugment, conv and GRU with CTC."""

import argparse
import math

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=6e-3)
parser.add_argument("--steps", type=int, default=6, help="epochs")
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)

RATE, N_FFT, HOP, MELS, DIGITS, BLANK = 4000, 256, 96, 24, 8, 0
FORMANTS = torch.tensor([[300, 900], [300, 1500], [450, 1100], [450, 1750], [620, 1000], [620, 1500], [800, 1250], [380, 600.0]])


def speak(digits):
    """Each digit is two formants over a pitch, of its own length, with short pauses and background noise."""
    pieces, voice = [], 1 + 0.06 * torch.randn(()).item()
    for digit in digits:
        t = torch.arange(torch.randint(500, 900, ()).item()) / RATE
        envelope = torch.hann_window(len(t)).sqrt()
        tones = sum(torch.sin(2 * math.pi * f * voice * t + torch.rand(()) * 6) for f in FORMANTS[digit])
        pieces += [tones * envelope, torch.zeros(torch.randint(150, 400, ()).item())]
    wave = torch.cat(pieces)
    return wave + 0.15 * torch.randn_like(wave)


def mel_filters():
    def mel(f):
        return 2595 * math.log10(1 + f / 700)

    edges = torch.linspace(mel(60), mel(RATE / 2), MELS + 2)
    edges = 700 * (10 ** (edges / 2595) - 1)
    freq = torch.linspace(0, RATE / 2, N_FFT // 2 + 1)
    up = (freq[None] - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None]
    down = (edges[2:, None] - freq[None]) / (edges[2:] - edges[1:-1])[:, None]
    return torch.minimum(up, down).clamp(min=0)


FILTERS, WINDOW = mel_filters(), torch.hann_window(N_FFT)


class Utterances(Dataset):
    def __init__(self, n):
        self.items = []
        for _ in range(n):
            digits = torch.randint(0, DIGITS, (torch.randint(2, 6, ()).item(),))
            spectrum = torch.stft(speak(digits), N_FFT, HOP, window=WINDOW, return_complex=True).abs() ** 2
            features = (FILTERS @ spectrum + 1e-4).log().t()
            features = (features - features.mean(0)) / (features.std(0) + 1e-5)
            self.items.append((features, digits + 1))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(batch):
    features, texts = zip(*batch)
    frames = torch.tensor([len(f) for f in features])
    lengths = torch.tensor([len(t) for t in texts])
    return pad_sequence(features, batch_first=True), frames, torch.cat(texts), lengths


def spec_augment(features, frames):
    features = features.clone()
    for k, n in enumerate(frames.tolist()):
        width = torch.randint(0, 4, ()).item()
        start = torch.randint(0, MELS - width, ()).item()
        features[k, :, start : start + width] = 0
        width = torch.randint(0, max(2, n // 12), ()).item()
        start = torch.randint(0, n - width, ()).item()
        features[k, start : start + width] = 0
    return features


class Recogniser(nn.Module):
    def __init__(self, hidden=40):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv1d(MELS, 48, 5, stride=2, padding=2), nn.ReLU(), nn.Dropout(0.1))
        self.gru = nn.GRU(48, hidden, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * hidden, DIGITS + 1)

    def forward(self, features, frames):
        h = self.conv(features.transpose(1, 2)).transpose(1, 2)
        frames = (frames + 1) // 2
        packed = pack_padded_sequence(h, frames, batch_first=True, enforce_sorted=False)
        h, _ = pad_packed_sequence(self.gru(packed)[0], batch_first=True)
        return self.out(h).log_softmax(-1), frames


def edit_distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))
    return row[-1]


@torch.no_grad()
def error_rate(model, loader):
    model.eval()
    wrong = total = 0
    for features, frames, texts, lengths in loader:
        log_probs, frames = model(features, frames)
        for path, n, text in zip(log_probs.argmax(-1), frames.tolist(), texts.split(lengths.tolist())):
            guess = [c for c in torch.unique_consecutive(path[:n]).tolist() if c != BLANK]
            wrong, total = wrong + edit_distance(guess, text.tolist()), total + len(text)
    return wrong / total


train_loader = DataLoader(Utterances(400), batch_size=10, shuffle=True, collate_fn=collate)
valid_loader = DataLoader(Utterances(80), batch_size=40, collate_fn=collate)
model = Recogniser()
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
total_steps = args.steps * len(train_loader)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=args.lr, total_steps=total_steps, pct_start=0.2)
criterion = nn.CTCLoss(blank=BLANK, zero_infinity=True)
for epoch in range(args.steps):
    model.train()
    total = 0.0
    for features, frames, texts, lengths in train_loader:
        log_probs, frames = model(spec_augment(features, frames), frames)
        loss = criterion(log_probs.transpose(0, 1), texts, frames, lengths)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        scheduler.step()
        total += loss.item()
    if epoch % 3 == 2:
        print(f"epoch {epoch + 1}: loss {total / len(train_loader):.4f}, digit error rate {error_rate(model, valid_loader):.3f}")
