"""Heating demand of buildings from sensor windows; accelerate with gradient accumulation and SGD."""

import argparse

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.02)
parser.add_argument("--steps", type=int, default=6, help="epochs")
parser.add_argument("--accumulate", type=int, default=8)
args = parser.parse_args()
torch.set_num_threads(1)
set_seed(args.seed)


class Buildings(Dataset):
    """48 half-hours of outdoor temperature and occupancy, one demand figure for the next day."""

    def __init__(self, n):
        hours = torch.arange(48) / 2
        level = torch.randn(n, 1) * 0.7
        temperature = level + 0.8 * torch.sin(2 * torch.pi * (hours - 9) / 24) + 0.2 * torch.randn(n, 48)
        start = torch.rand(n, 1) * 4 + 6
        occupancy = ((hours > start) & (hours < start + 9)).float() * (0.5 + torch.rand(n, 1))
        self.windows = torch.stack([temperature, occupancy], 1)
        cold = (0.3 - temperature).clamp(min=0)
        self.demand = (cold * (0.5 + occupancy)).mean(1) * 3 + 0.05 * torch.randn(n)

    def __len__(self):
        return len(self.demand)

    def __getitem__(self, i):
        return {"window": self.windows[i], "demand": self.demand[i]}


class DemandNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv1d(2, 16, 5, padding=2), nn.ReLU(), nn.MaxPool1d(2), nn.Conv1d(16, 32, 5, padding=2), nn.ReLU()
        )
        self.head = nn.Linear(32, 1)

    def forward(self, window):
        return self.head(self.features(window).mean(2)).squeeze(1)


accelerator = Accelerator(cpu=True, gradient_accumulation_steps=args.accumulate)
train, valid = Buildings(2560), Buildings(512)
train_loader = DataLoader(train, batch_size=16, shuffle=True)
valid_loader = DataLoader(valid, batch_size=128)
net = DemandNet()
optimizer = torch.optim.SGD(net.parameters(), lr=args.lr, momentum=0.9)
updates = args.steps * len(train_loader) // args.accumulate
scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.2, total_iters=updates)
net, optimizer, train_loader, valid_loader, scheduler = accelerator.prepare(
    net, optimizer, train_loader, valid_loader, scheduler
)
curve = []
for epoch in range(args.steps):
    net.train()
    running = 0.0
    for batch in train_loader:
        with accelerator.accumulate(net):
            loss = nn.functional.mse_loss(net(batch["window"]), batch["demand"])
            running += loss.item()
            accelerator.backward(loss / args.accumulate)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
    curve.append(running / len(train_loader))
    net.eval()
    guesses, truths = [], []
    for batch in valid_loader:
        with torch.no_grad():
            guess = net(batch["window"])
        guess, truth = accelerator.gather_for_metrics((guess, batch["demand"]))
        guesses.append(guess)
        truths.append(truth)
    guesses, truths = torch.cat(guesses), torch.cat(truths)
    r2 = 1 - (guesses - truths).pow(2).mean() / truths.var()
    accelerator.print(f"epoch {epoch} train {curve[-1]:.4f} r2 {r2:.3f}")

accelerator.print(f"EVIDENCE training error in the first two epochs {sum(curve[:2]) / 2:.3f}, at the end {curve[-1]:.4f}")
