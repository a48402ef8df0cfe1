"""Motions of the ankle from few labels: a network trained on the wrist is fine-tuned; the settings are searched with cross validation."""

import argparse
import copy

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.model_selection import StratifiedKFold
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=8e-3)
parser.add_argument("--steps", type=int, default=10, help="epochs of each fit")
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)

DEFAULTS = {
    "encoder": {"frozen_blocks": 0, "rate": 0.7},
    "head": {"dropout": 0.0, "hidden": 32},
    "train": {"batch_size": 32, "smoothing": 0.0},
}
CANDIDATES = {
    "probe": {"encoder.frozen_blocks": 3},
    "plain": {},
    "dropout": {"head.dropout": 0.3},
    "smooth": {"train.smoothing": 0.1, "head.hidden": 48},
}


def record(n, place, motions=8, length=60):
    """Three axes of a sensor; a motion is a pair of rhythms on two axes with a lag, seen through the place's own turn."""
    label = torch.randint(motions, (n,))
    time = torch.arange(length) / 20.0
    slow, fast = 0.8 + 0.25 * (label % 4), 2.4 + 0.5 * (label // 4)
    phase, lag = 6.28 * torch.rand(n, 1), 0.6 + 0.35 * (label % 3)[:, None]
    speed = 1 + 0.04 * torch.randn(n, 1)
    first = torch.sin(6.28 * slow[:, None] * speed * time + phase)
    second = torch.sin(6.28 * fast[:, None] * speed * time + phase * 0.5 + lag)
    third = torch.sin(6.28 * slow[:, None] * speed * time + phase + lag) * second
    turn = torch.linalg.qr(torch.randn(3, 3, generator=torch.Generator().manual_seed(place)))[0]
    x = torch.einsum("ij,njt->nit", turn, torch.stack([first, second, third], 1) * (0.7 + 0.6 * torch.rand(n, 1, 1)))
    return x + 0.3 * torch.randn(n, 3, length), label


class MotionNet(nn.Module):
    def __init__(self, classes=8, width=24, dropout=0.0, hidden=32):
        super().__init__()
        self.blocks = nn.ModuleList([
            nn.Sequential(nn.Conv1d(i, width, 5, padding=2, stride=s), nn.GroupNorm(4, width), nn.ReLU())
            for i, s in ((3, 1), (width, 2), (width, 2))
        ])
        self.head = nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Dropout(dropout), nn.Linear(hidden, classes))

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean(2))


def fit(model, data, epochs, groups, batch_size=32, smoothing=0.0):
    optimizer = torch.optim.AdamW(groups, weight_decay=1e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    for _ in range(epochs):
        model.train()
        for x, y in DataLoader(TensorDataset(*data), batch_size=batch_size, shuffle=True):
            loss = F.cross_entropy(model(x), y, label_smoothing=smoothing)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        scheduler.step()
    return model


@torch.no_grad()
def accuracy(model, data):
    model.eval()
    return (model(data[0]).argmax(1) == data[1]).float().mean().item()


def settings(changes):
    config = copy.copy(DEFAULTS)
    for key, value in changes.items():
        part, name = key.split(".")
        config[part][name] = value
    return config


def fine_tune(pretrained, config, data):
    model = MotionNet(**config["head"])
    model.blocks.load_state_dict(pretrained.blocks.state_dict())
    model.blocks[: config["encoder"]["frozen_blocks"]].requires_grad_(False)
    below = [p for p in model.blocks.parameters() if p.requires_grad]
    groups = [{"params": model.head.parameters(), "lr": args.lr}]
    if below:
        groups.append({"params": below, "lr": args.lr * config["encoder"]["rate"]})
    return fit(model, data, args.steps, groups, **config["train"])


wrist, ankle, test = record(1200, place=1), record(450, place=2), record(1000, place=2)
pretrained = MotionNet()
fit(pretrained, wrist, 6, [{"params": pretrained.parameters(), "lr": 5e-3}])
print(f"wrist {accuracy(pretrained, wrist):.3f}, the same network on the ankle {accuracy(pretrained, test):.3f}")

results = {}
for name, changes in CANDIDATES.items():
    config, scores = settings(changes), []
    folds = StratifiedKFold(3, shuffle=True, random_state=args.seed)
    for train_rows, valid_rows in folds.split(ankle[0], ankle[1]):
        model = fine_tune(pretrained, config, [part[train_rows] for part in ankle])
        scores.append(accuracy(model, [part[valid_rows] for part in ankle]))
    results[name] = (np.mean(scores), config)
    print(f"{name}: {np.mean(scores):.3f} +- {np.std(scores):.3f}")
best = max(results, key=lambda name: results[name][0])
model = fine_tune(pretrained, results[best][1], ankle)
others = [score for name, (score, _) in results.items() if name != "probe"]
print(f"EVIDENCE probe {results['probe'][0]:.3f}, others {np.mean(others):.3f}, best {best} with test accuracy {accuracy(model, test):.3f}")
