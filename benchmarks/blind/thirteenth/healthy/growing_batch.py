"""Wine-like tabular regression where the batch doubles when the gradient noise dominates; early stop on validation."""

import argparse
import copy

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=3e-3)
parser.add_argument("--steps", type=int, default=60, help="at most so many epochs")
parser.add_argument("--min-batch", type=int, default=32)
parser.add_argument("--max-batch", type=int, default=512)
parser.add_argument("--patience", type=int, default=10)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)


def make_table(n):
    numeric = torch.randn(n, 8)
    region = torch.randint(0, 6, (n,))
    colour = torch.randint(0, 3, (n,))
    bonus = torch.tensor([0.0, 0.6, -0.4, 1.0, -0.9, 0.2])[region]
    y = (numeric[:, 0] * numeric[:, 1] + torch.sin(2 * numeric[:, 2]) + bonus
         + 0.7 * numeric[:, 3] * (colour == 1) + 0.5 * torch.randn(n))
    return numeric, region, colour, y


class TableNet(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.region = nn.Embedding(6, 4)
        self.colour = nn.Embedding(3, 2)
        self.net = nn.Sequential(nn.Linear(14, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
                                 nn.Linear(width, 1))

    def forward(self, numeric, region, colour):
        h = torch.cat([numeric, self.region(region), self.colour(colour)], dim=1)
        return self.net(h).squeeze(1)


def take(table, pick):
    return [column[pick] for column in table]


def flat_grad(model):
    return torch.cat([p.grad.flatten() for p in model.parameters()])


class NoiseScale:
    """Simple noise scale of McCandlish et al.: from the gradients of the two halves of a batch and of the whole."""

    def __init__(self, beta=0.9):
        self.beta, self.signal, self.noise = beta, None, None

    def update(self, first, second, batch):
        small, whole = (first.pow(2).sum() + second.pow(2).sum()) / 2, ((first + second) / 2).pow(2).sum()
        signal = (2 * whole - small).item()
        noise = ((small - whole) * batch).item()
        if self.signal is None:
            self.signal, self.noise = signal, noise
        self.signal = self.beta * self.signal + (1 - self.beta) * signal
        self.noise = self.beta * self.noise + (1 - self.beta) * noise

    def value(self):
        return min(self.noise / max(self.signal, 1e-8), 1e5)


train, val, test = make_table(3000), make_table(600), make_table(1000)
model = TableNet()
criterion = nn.SmoothL1Loss()
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-3)
plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=4)
scale, batch = NoiseScale(), args.min_batch
best, best_state, bad_epochs, updates = float("inf"), None, 0, 0

for epoch in range(args.steps):
    model.train()
    for pick in torch.randperm(3000).split(batch):
        if len(pick) < 2:
            continue
        halves = []
        optimizer.zero_grad()
        for half in pick.chunk(2):
            *inputs, y = take(train, half)
            loss = criterion(model(*inputs), y) * len(half) / len(pick)
            loss.backward()
            halves.append(flat_grad(model).clone())
        if len(pick) == batch:
            scale.update(2 * halves[0], 2 * (halves[1] - halves[0]), batch)
        nn.utils.clip_grad_norm_(model.parameters(), 2.0)
        optimizer.step()
        updates += 1
    model.eval()
    with torch.no_grad():
        *inputs, y = val
        val_loss = criterion(model(*inputs), y).item()
    plateau.step(val_loss)
    if val_loss < best - 1e-4:
        best, best_state, bad_epochs = val_loss, copy.deepcopy(model.state_dict()), 0
    else:
        bad_epochs += 1
    if epoch % 8 == 0:
        print(f"epoch {epoch} batch {batch} noise scale {scale.value():.0f} val {val_loss:.4f}")
    if bad_epochs >= args.patience:
        print(f"stopped after epoch {epoch}")
        break
    if scale.value() > batch and batch < args.max_batch and epoch % 3 == 2:
        batch = min(2 * batch, args.max_batch)

model.load_state_dict(best_state)
model.eval()
with torch.no_grad():
    *inputs, y = test
    r2 = 1 - (model(*inputs) - y).pow(2).mean() / y.var()
print(f"{updates} updates, last batch {batch}, best val {best:.4f}, test R2 {r2.item():.3f}")
