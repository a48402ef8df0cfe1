"""Hourly electricity load, one-day-ahead forecast with a GRU.

The load has rare spikes (outages, meter faults), so the gradient is clipped.
The calendar embedding is a fixed Fourier table and is not trained.
"""
import argparse
import math

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

CONTEXT = 48
HORIZON = 12


def make_series(hours, seed):
    g = torch.Generator().manual_seed(seed)
    t = torch.arange(hours, dtype=torch.float32)
    base = 10 + 2 * torch.sin(2 * math.pi * t / 24) + torch.sin(2 * math.pi * t / 168 + 1.0)
    ar = torch.zeros(hours)
    noise = 0.15 * torch.randn(hours, generator=g)
    for i in range(1, hours):
        ar[i] = 0.9 * ar[i - 1] + noise[i]
    spikes = (torch.rand(hours, generator=g) < 0.004).float() * (60 + 60 * torch.rand(hours, generator=g))
    return base + ar, base + ar + spikes


class Windows(Dataset):
    def __init__(self, series, clean, start, stop, mean, std):
        self.x = (series - mean) / std
        self.y = (clean - mean) / std
        self.first, self.count = start, stop - start - CONTEXT - HORIZON

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        a = self.first + i
        hour = torch.arange(a, a + CONTEXT) % 168
        return self.x[a:a + CONTEXT], hour, self.y[a + CONTEXT:a + CONTEXT + HORIZON]


class LoadForecaster(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        week = torch.arange(168).float()[:, None] / 168
        freq = torch.tensor([1.0, 2.0, 7.0, 14.0])
        table = torch.cat([torch.sin(2 * math.pi * week * freq), torch.cos(2 * math.pi * week * freq)], dim=1)
        self.calendar = nn.Embedding.from_pretrained(table, freeze=True)
        self.rnn = nn.GRU(1 + table.shape[1], width, batch_first=True)
        self.head = nn.Linear(width, HORIZON)

    def forward(self, load, hour):
        x = torch.cat([load.unsqueeze(-1), self.calendar(hour)], dim=-1)
        _, h = self.rnn(x)
        return self.head(h[-1])


class Trainer:
    def __init__(self, model, lr, steps, max_norm=0.25):
        self.model = model
        self.max_norm = max_norm
        self.trainable = filter(lambda p: p.requires_grad, model.parameters())
        self.optimizer = torch.optim.SGD(self.trainable, lr=lr, momentum=0.9, nesterov=True)
        self.schedule = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, steps, eta_min=0.05 * lr)
        self.largest = 0.0

    def step(self, load, hour, target):
        self.model.train()
        loss = nn.functional.mse_loss(self.model(load, hour), target)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.trainable, self.max_norm)
        self.largest = max(self.largest, grad_norm(self.model))
        self.optimizer.step()
        self.schedule.step()
        return loss.item()


def grad_norm(model):
    return math.sqrt(sum(p.grad.pow(2).sum().item() for p in model.parameters() if p.grad is not None))


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    total, n = 0.0, 0
    for load, hour, target in loader:
        total += (model(load, hour) - target).abs().mean(dim=1).sum().item()
        n += len(target)
    return total / n


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=0.1)
    ap.add_argument("--steps", type=int, default=200)
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)

    clean, measured = make_series(24 * 7 * 20, args.seed)
    split = int(0.8 * len(measured))
    mean, std = measured[:split].median(), clean[:split].std()
    train = Windows(measured, measured, 0, split, mean, std)
    valid = Windows(clean, clean, split, len(measured), mean, std)
    train_loader = DataLoader(train, batch_size=32, shuffle=True, drop_last=True)
    valid_loader = DataLoader(valid, batch_size=256)

    model = LoadForecaster()
    trainer = Trainer(model, args.lr, args.steps)
    step = 0
    while step < args.steps:
        for load, hour, target in train_loader:
            loss = trainer.step(load, hour, target)
            step += 1
            if step % 50 == 0:
                print(f"step {step:4d} train {loss:.4f} valid mae {evaluate(model, valid_loader):.4f}")
            if step >= args.steps:
                break

    print(f"EVIDENCE val_mae={evaluate(model, valid_loader):.4f} largest_grad_norm={trainer.largest:.4f}")


if __name__ == "__main__":
    main()
