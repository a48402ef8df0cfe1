"""Recognition of spoken commands from filter banks. Features are normalised by statistics that grow over the first epoch."""
import argparse

import torch
from torch import nn

BANDS, FRAMES, COMMANDS = 16, 30, 5


class InputNormalization(nn.Module):
    """Global mean and deviation per band, gathered from valid frames while training, up to `update_until` batches."""

    def __init__(self, bands, update_until=30):
        super().__init__()
        self.update_until = update_until
        self.register_buffer("count", torch.zeros(()))
        self.register_buffer("batches", torch.zeros((), dtype=torch.long))
        self.register_buffer("mean", torch.zeros(bands))
        self.register_buffer("std", torch.ones(bands))

    @torch.no_grad()
    def update(self, x, lengths):
        for clip, length in zip(x, lengths.tolist()):
            frames = clip[:length]
            weight = length / (self.count + length)
            if self.count == 0:
                self.mean, self.std = frames.mean(0), frames.std(0)
            else:
                before = self.mean.clone()
                self.mean = self.mean + weight * (frames.mean(0) - self.mean)
                spread = ((frames - before) * (frames - self.mean)).mean(0)
                self.std = ((1 - weight) * self.std ** 2 + weight * spread).clamp(min=1e-8).sqrt()
            self.count += length
        self.batches += 1

    def forward(self, x, lengths):
        if self.training and self.batches < self.update_until:
            self.update(x, lengths)
        valid = torch.arange(x.shape[1]) < lengths[:, None]
        return (x - self.mean) / self.std * valid[..., None]


class Recogniser(nn.Module):
    def __init__(self):
        super().__init__()
        self.normalise = InputNormalization(BANDS)
        self.rnn = nn.GRU(BANDS, 40, batch_first=True)
        self.out = nn.Linear(40, COMMANDS)

    def forward(self, x, lengths):
        x = self.normalise(x, lengths)
        states, _ = self.rnn(torch.tanh(x))
        return self.out(states[torch.arange(len(x)), lengths - 1])


def clips(gen, count=24):
    """Each speaker has a level and a tilt of his own, far apart; the command is a slow movement over the bands."""
    command = torch.randint(0, COMMANDS, (count,), generator=gen)
    lengths = torch.randint(18, FRAMES + 1, (count,), generator=gen)
    level = -6 + 4 * torch.randn(count, 1, 1, generator=gen)
    tilt = 1.5 * torch.randn(count, 1, 1, generator=gen) * torch.linspace(-1, 1, BANDS)
    time = torch.arange(FRAMES)[None, :, None] / FRAMES
    band = torch.arange(BANDS)[None, None] / BANDS
    shape = torch.sin(6.28 * (band * (1 + command[:, None, None]) + time * (command[:, None, None] - 2)))
    x = level + tilt + 1.2 * shape + 0.5 * torch.randn(count, FRAMES, BANDS, generator=gen)
    return x * (torch.arange(FRAMES) < lengths[:, None])[..., None], lengths, command


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=4e-3)
    ap.add_argument("--steps", type=int, default=150)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    model = Recogniser()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    gen = torch.Generator().manual_seed(args.seed + 9)
    for step in range(args.steps):
        x, lengths, command = clips(gen)
        loss = nn.functional.cross_entropy(model(x, lengths), command)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 2.0)
        optimizer.step()
        if step % 30 == 0:
            print(f"step {step} loss {loss.item():.4f}")
    model.eval()
    x, lengths, command = clips(torch.Generator().manual_seed(4), 400)
    with torch.no_grad():
        valid = torch.arange(FRAMES) < lengths[:, None]
        spread = model.normalise(x, lengths)[valid].std(0).mean().item()
        right = (model(x, lengths).argmax(1) == command).float().mean().item()
    print(f"EVIDENCE spread_after_normalising={spread:.4f} accuracy={right:.4f}")


if __name__ == "__main__":
    main()
