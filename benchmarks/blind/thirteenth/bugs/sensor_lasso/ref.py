"""Which of 60 sensors matter: an input-gated classifier with a sparsity penalty, tuned on a hold-out set."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=5e-3)
parser.add_argument("--steps", type=int, default=36, help="epochs")
parser.add_argument("--l1", type=float, default=3e-3)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)

SENSORS, USEFUL, CLASSES = 60, 6, 3


def make_data(n):
    latent = torch.randn(n, USEFUL)
    other = torch.randn(n, SENSORS - USEFUL)
    other[:, :10] = 0.5 * latent[:, :1] + 0.9 * other[:, :10]
    score = torch.stack([latent[:, 0] * latent[:, 1],
                         latent[:, 2] + 0.5 * latent[:, 3],
                         latent[:, 4].abs() - latent[:, 5]], dim=1)
    label = (score + 0.2 * torch.randn(n, CLASSES)).argmax(dim=1)
    return torch.cat([latent, other], dim=1), label


class GatedClassifier(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.gate = nn.Parameter(torch.ones(SENSORS))
        self.net = nn.Sequential(
            nn.Linear(SENSORS, width),
            nn.BatchNorm1d(width),
            nn.ReLU(),
            nn.Dropout(0.1),
            nn.Linear(width, width),
            nn.ReLU(),
            nn.Linear(width, CLASSES),
        )

    def forward(self, x):
        return self.net(x * self.gate)


def l1_penalty(model, keys=("gate", "net.0.weight")):
    total = 0.0
    for name, weight in model.named_parameters():
        if name in keys:
            total = total + weight.abs().sum()
    return total


def run_epoch(model, loader, criterion, optimizer):
    model.train()
    seen, total = 0, 0.0
    for x, y in loader:
        optimizer.zero_grad()
        data_loss = criterion(model(x), y)
        loss = data_loss + args.l1 * l1_penalty(model)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(y)
        seen += len(y)
    return total / seen


@torch.no_grad()
def accuracy(model, loader):
    model.eval()
    right = sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
    return right / len(loader.dataset)


data = TensorDataset(*make_data(1600))
train_set, val_set = random_split(data, [1200, 400])
train_loader = DataLoader(train_set, batch_size=50, shuffle=True)
val_loader = DataLoader(val_set, batch_size=200)

model = GatedClassifier()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=max(1, args.steps // 3), gamma=0.4)

best = 0.0
for epoch in range(args.steps):
    loss = run_epoch(model, train_loader, criterion, optimizer)
    acc = accuracy(model, val_loader)
    best = max(best, acc)
    scheduler.step()
    if epoch % 9 == 0:
        print(f"epoch {epoch} loss {loss:.3f} val acc {acc:.3f}")

with torch.no_grad():
    effect = (model.net[0].weight.abs().sum(dim=0) * model.gate.abs())
    share = (effect[:USEFUL].sum() / effect.sum()).item()
    alive = int((effect > 0.05 * effect.max()).sum())
print(f"EVIDENCE {alive} of {SENSORS} sensors kept, {share:.3f} of the weight on the useful ones, "
      f"best val acc {best:.3f}")
