"""Spoken syllables of many voices: waveforms are synthesised, a log-mel front end and a small convolutional recogniser."""

import argparse
import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=3e-3)
parser.add_argument("--steps", type=int, default=6, help="epochs")
args = parser.parse_args()

torch.manual_seed(args.seed)
torch.set_num_threads(1)

RATE, SAMPLES = 16000, 4800
NOISES = {"s": (6200.0, 900.0), "sh": (3600.0, 800.0), "h": (1800.0, 700.0)}
VOWELS = {"i": (300.0, 2300.0), "e": (480.0, 1900.0), "a": (750.0, 1250.0), "o": (500.0, 900.0)}
SYLLABLES = [noise + vowel for noise in NOISES for vowel in VOWELS]


def shaped(signal, envelope):
    return torch.fft.irfft(torch.fft.rfft(signal) * envelope, n=SAMPLES)


def synthesise(n):
    """A hiss and then a voiced sound with two formants; length of tract, pitch, loudness and background vary."""
    freq = torch.fft.rfftfreq(SAMPLES, 1 / RATE)
    label = torch.randint(len(SYLLABLES), (n,))
    centre, width = torch.tensor(list(NOISES.values()))[label // len(VOWELS)].unbind(1)
    formants = torch.tensor(list(VOWELS.values()))[label % len(VOWELS)]
    tract = 0.9 + 0.2 * torch.rand(n, 1)
    hiss = shaped(torch.randn(n, SAMPLES), torch.exp(-0.5 * ((freq - centre[:, None] * tract) / width[:, None]) ** 2))
    time = torch.arange(SAMPLES) / RATE
    pitch = (90 + 140 * torch.rand(n, 1)) * (1 + 0.1 * torch.sin(2 * math.pi * 3 * time + 6.28 * torch.rand(n, 1)))
    pulses = torch.diff(torch.floor(torch.cumsum(pitch / RATE, 1)), dim=1, prepend=torch.zeros(n, 1))
    peaks = 1 / (1 + ((freq - (formants * tract)[:, :, None]) / 90) ** 2)
    voice = shaped(pulses, peaks[:, 0] + 0.5 * peaks[:, 1])
    start = 0.1 + 0.06 * torch.rand(n, 1)
    voiced = torch.sigmoid((time - start) * 400)
    hiss, voice = hiss / hiss.std(1, keepdim=True), voice / voice.std(1, keepdim=True)
    wave = 0.5 * hiss * (1 - voiced) + voice * voiced
    loudness = torch.exp(0.5 * torch.randn(n, 1))
    return loudness * wave + 0.15 * torch.randn(n, SAMPLES), label


def hz_to_mel(hz):
    return 2595.0 * torch.log10(1.0 + hz / 700.0)


def mel_to_hz(mel):
    return 700.0 * (torch.pow(10.0, mel / 2595.0) - 1.0)


class LogMel(nn.Module):
    def __init__(self, n_fft=400, hop=160, n_mels=32, low=60.0, high=RATE / 2):
        super().__init__()
        self.n_fft, self.hop = n_fft, hop
        self.register_buffer("window", torch.hann_window(n_fft))
        ends = hz_to_mel(torch.tensor([low, high]))
        points = mel_to_hz(torch.linspace(ends[0].item(), ends[1].item(), n_mels + 2))
        freq = torch.linspace(0, RATE / 2, n_fft // 2 + 1)
        rising = (freq[None] - points[:-2, None]) / (points[1:-1] - points[:-2])[:, None]
        falling = (points[2:, None] - freq[None]) / (points[2:] - points[1:-1])[:, None]
        self.register_buffer("bank", torch.minimum(rising, falling).clamp(min=0))

    def forward(self, wave):
        spectrum = torch.stft(wave, self.n_fft, hop_length=self.hop, window=self.window, return_complex=True)
        mel = self.bank @ spectrum.abs().pow(2)
        logmel = torch.log(mel + 1e-4)
        return logmel - logmel.mean((1, 2), keepdim=True)


class Recogniser(nn.Module):
    def __init__(self, n_mels=32, width=48):
        super().__init__()
        self.features = LogMel(n_mels=n_mels)
        self.body = nn.Sequential(
            nn.Conv1d(n_mels, width, 5, padding=2), nn.BatchNorm1d(width), nn.ReLU(), nn.MaxPool1d(2),
            nn.Conv1d(width, width, 3, padding=1), nn.BatchNorm1d(width), nn.ReLU(), nn.Dropout(0.2),
        )
        self.out = nn.Linear(2 * width, len(SYLLABLES))

    def forward(self, wave):
        x = self.features(wave)
        if self.training:
            first = torch.randint(0, x.shape[2] - 3, ()).item()
            x = torch.cat([x[:, :, :first], torch.zeros_like(x[:, :, :3]), x[:, :, first + 3 :]], dim=2)
        x = self.body(x)
        return self.out(torch.cat([x.mean(2), x.amax(2)], dim=1))


train_loader = DataLoader(TensorDataset(*synthesise(1400)), batch_size=50, shuffle=True)
test_wave, test_label = synthesise(500)
model = Recogniser()
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-2)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps)
for epoch in range(args.steps):
    model.train()
    total = 0.0
    for wave, label in train_loader:
        loss = F.cross_entropy(model(wave), label, label_smoothing=0.05)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    scheduler.step()
    model.eval()
    with torch.no_grad():
        guess = torch.cat([model(part) for part in test_wave.split(250)]).argmax(1)
    print(f"epoch {epoch + 1}: loss {total / len(train_loader):.4f}, accuracy {(guess == test_label).float().mean():.3f}")
heard = torch.linspace(0, RATE / 2, 201)[model.features.bank.sum(0) > 0]
hiss_right = (guess // len(VOWELS) == test_label // len(VOWELS)).float().mean()
print(f"EVIDENCE the bank covers {heard.min():.0f} to {heard.max():.0f} Hz, accuracy {(guess == test_label).float().mean():.3f}, of the hiss {hiss_right:.3f}")
