"""Bird calls from two kinds of recorders, at 16 and at 32 kHz. A small network tells species by their spectrum."""
import argparse

import torch
import torch.nn.functional as F
from scipy.signal import resample_poly
from torch import nn
from torch.utils.data import DataLoader, Dataset

SAMPLE_RATE, CLIP, SPECIES = 16000, 1024, 6
PITCHES = torch.tensor([700.0, 1000.0, 1400.0, 2000.0, 2800.0, 4000.0])


def record(species, rate, gen):
    """What a recorder of this rate writes: a call with overtone in noise."""
    t = torch.arange(CLIP * rate // SAMPLE_RATE) / rate
    pitch = PITCHES[species] * (1 + 0.05 * torch.randn((), generator=gen))
    phase = 6.28 * torch.rand((), generator=gen)
    call = torch.sin(6.2832 * pitch * t + phase) + 0.3 * torch.sin(6.2832 * 1.5 * pitch * t)
    return call + 1.2 * torch.randn(len(t), generator=gen)


class Recordings(Dataset):
    def __init__(self, size, seed, rates):
        gen = torch.Generator().manual_seed(seed)
        self.files = []
        for i in range(size):
            species, rate = i % SPECIES, rates[i // SPECIES % len(rates)]
            self.files.append((record(species, rate, gen), rate, species))

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        wave, rate, species = self.files[i]
        if rate != SAMPLE_RATE:
            wave = torch.as_tensor(resample_poly(wave.numpy(), SAMPLE_RATE, rate), dtype=torch.float32)
        wave = wave[:CLIP]
        power = torch.stft(wave, 256, hop_length=128, window=torch.hann_window(256), return_complex=True).abs()
        return torch.log1p(power), species


class Listener(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.conv = nn.BatchNorm1d(129), nn.Conv1d(129, 48, 3, padding=1)
        self.head = nn.Linear(48, SPECIES)

    def forward(self, x):
        return self.head(torch.relu(self.conv(self.norm(x))).mean(-1))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=40)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    train = Recordings(360, args.seed + 20, rates=(16000, 32000))
    loader = DataLoader(train, batch_size=24, shuffle=True, generator=torch.Generator().manual_seed(args.seed))
    model = Listener()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    step = 0
    while step < args.steps:
        for spectrum, species in loader:
            loss = F.cross_entropy(model(spectrum), species)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % 10 == 0:
                print(f"step {step} loss {loss.item():.4f}")
            if step == args.steps:
                break
    # where the second species sings, in Hz, as the network sees it from the two recorders
    heard = {}
    for rate in (16000, 32000):
        spectra = [train[i][0].expm1() ** 2 for i in range(len(train)) if train.files[i][1:] == (rate, 1)]
        total = torch.stack(spectra).mean((0, 2))
        heard[rate] = total.argmax().item() * SAMPLE_RATE / 256
    test = Recordings(240, 31000 + args.seed, rates=(16000,))
    x, y = next(iter(DataLoader(test, batch_size=240)))
    model.eval()
    with torch.no_grad():
        accuracy = (model(x).argmax(1) == y).float().mean().item()
    print(f"EVIDENCE pitch_at_16k={heard[16000]:.0f} pitch_at_32k={heard[32000]:.0f} accuracy={accuracy:.4f}")


if __name__ == "__main__":
    main()
