"""Machine faults from vibration windows: rare classes drawn as often as common ones by a weighted sampler."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, Subset, WeightedRandomSampler

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=2e-3)
parser.add_argument("--steps", type=int, default=8, help="epochs")
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)

NAMES = ["normal", "imbalance", "bearing", "looseness"]
SHARE = torch.tensor([0.86, 0.08, 0.04, 0.02])


class Vibration(Dataset):
    """Windows of 128 samples; a fault adds a tone, its harmonics or short impacts."""

    def __init__(self, n):
        self.targets = torch.multinomial(SHARE, n, replacement=True)
        t = torch.arange(128) / 128
        speed = 8 + 2 * torch.rand(n, 1)
        phase = 6.28 * torch.rand(n, 1)
        wave = torch.sin(6.28 * speed * t + phase)
        noise = 0.9 * torch.randn(n, 128)
        impacts = (torch.sin(6.28 * 2.3 * speed * t + phase) > 0.97).float() * torch.randn(n, 128) * 2.5
        extra = torch.stack([
            torch.zeros(n, 128), 0.8 * wave, impacts, 0.5 * torch.sin(2 * (6.28 * speed * t + phase)),
        ])
        self.windows = wave + noise + extra[self.targets, torch.arange(n)]

    def __len__(self):
        return len(self.targets)

    def __getitem__(self, i):
        window = self.windows[i]
        return ((window - window.mean()) / 1.2).unsqueeze(0), self.targets[i]


dataset = Vibration(4000)
order = torch.randperm(len(dataset)).tolist()
train_set, valid_set = Subset(dataset, order[:3000]), Subset(dataset, order[3000:])

train_targets = dataset.targets[train_set.indices]
counts = torch.bincount(train_targets, minlength=len(NAMES))
weights = (1.0 / counts)[dataset.targets[: len(train_set)]]
sampler = WeightedRandomSampler(weights, num_samples=len(train_set), replacement=True)
train_loader = DataLoader(train_set, batch_size=64, sampler=sampler)
valid_loader = DataLoader(valid_set, batch_size=250)

model = nn.Sequential(
    nn.Conv1d(1, 16, 9, stride=2, padding=4), nn.BatchNorm1d(16), nn.ReLU(),
    nn.Conv1d(16, 32, 9, stride=2, padding=4), nn.BatchNorm1d(32), nn.ReLU(),
    nn.AdaptiveAvgPool1d(4), nn.Flatten(), nn.Linear(128, len(NAMES)),
)
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-2)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.steps)
criterion = nn.CrossEntropyLoss()


@torch.no_grad()
def recalls():
    model.eval()
    hit, seen = torch.zeros(len(NAMES)), torch.zeros(len(NAMES))
    for window, target in valid_loader:
        right = model(window).argmax(1) == target
        hit += torch.bincount(target[right], minlength=len(NAMES))
        seen += torch.bincount(target, minlength=len(NAMES))
    return hit / seen.clamp(min=1)


for epoch in range(args.steps):
    model.train()
    total, drawn = 0.0, torch.zeros(len(NAMES))
    for window, target in train_loader:
        loss = criterion(model(window), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        drawn += torch.bincount(target, minlength=len(NAMES))
    scheduler.step()
    if epoch % 4 == 3:
        print(f"epoch {epoch + 1}: loss {total / len(train_loader):.4f}, recalls {[f'{r:.2f}' for r in recalls()]}")
rare = (drawn[1:].sum() / drawn.sum()).item()
print(f"EVIDENCE share of faults among the drawn windows {rare:.3f}, mean recall of faults {recalls()[1:].mean():.3f}")
