"""Remaining life of engines from sensor sequences of unequal length: packed GRU, Huber loss, early stopping on disk."""

import argparse
import os
import tempfile

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence
from torch.utils.data import DataLoader

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=8e-3)
parser.add_argument("--steps", type=int, default=14, help="most epochs")
parser.add_argument("--patience", type=int, default=4)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)

SENSORS, MAX_LIFE = 5, 60.0


def make_engine():
    """An engine wears at its own speed; it is observed from the start up to a random moment."""
    life = int(torch.randint(40, 120, ()))
    seen = int(torch.randint(15, min(life, 50), ()))
    t = torch.arange(seen).float()
    health = 1 - (t / life) ** 2
    gain = torch.tensor([1.0, -0.8, 0.5, 1.5, 0.0])
    offset = torch.tensor([520.0, 640.0, 47.0, 9050.0, 21.0])
    scale = torch.tensor([2.0, 5.0, 0.3, 20.0, 0.1])
    sensors = health[:, None] * gain + 0.1 * torch.randn(seen, SENSORS)
    left = min(float(life - seen), MAX_LIFE)
    return offset + scale * sensors, left


def collate(rows):
    rows = sorted(rows, key=lambda r: -len(r[0]))
    lengths = torch.tensor([len(x) for x, _ in rows])
    x = pad_sequence([x for x, _ in rows], batch_first=True)
    y = torch.tensor([y for _, y in rows])
    return x, lengths, y


class LifeModel(nn.Module):
    def __init__(self, mean, std, hidden=32):
        super().__init__()
        self.register_buffer("mean", mean)
        self.register_buffer("std", std)
        self.gru = nn.GRU(SENSORS, hidden, batch_first=True)
        self.head = nn.Sequential(nn.Linear(hidden, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 1))

    def forward(self, x, lengths):
        x = (x - self.mean) / self.std
        packed = pack_padded_sequence(x, lengths, batch_first=True)
        _, h = self.gru(packed)
        return self.head(h[-1]).squeeze(-1)


class EarlyStopping:
    def __init__(self, path, patience):
        self.path, self.patience = path, patience
        self.best, self.bad, self.best_epoch = float("inf"), 0, -1

    def step(self, value, model, epoch):
        if value < self.best:
            self.best, self.bad, self.best_epoch = value, 0, epoch
            torch.save(model.state_dict(), self.path)
        else:
            self.bad += 1
        return self.bad >= self.patience


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    squares = count = 0
    for x, lengths, y in loader:
        squares += ((model(x, lengths) * MAX_LIFE - y) ** 2).sum().item()
        count += len(y)
    return (squares / count) ** 0.5


engines = [make_engine() for _ in range(560)]
train, val, test = engines[:400], engines[400:480], engines[480:]
frames = torch.cat([x for x, _ in train])
model = LifeModel(frames.mean(0), frames.std(0))
train_loader = DataLoader(train, batch_size=16, shuffle=True, collate_fn=collate)
val_loader = DataLoader(val, batch_size=128, collate_fn=collate)
test_loader = DataLoader(test, batch_size=128, collate_fn=collate)

opt = torch.optim.Adam(model.parameters(), lr=args.lr)
sched = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, factor=0.5, patience=1, min_lr=args.lr / 50)
criterion = nn.HuberLoss(delta=0.2)
with tempfile.TemporaryDirectory() as folder:
    stopper = EarlyStopping(os.path.join(folder, "best.pt"), args.patience)
    for epoch in range(args.steps):
        model.train()
        total = 0.0
        for x, lengths, y in train_loader:
            loss = criterion(model(x, lengths), y / MAX_LIFE)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            total += loss.item()
        rmse = evaluate(model, val_loader)
        sched.step(rmse)
        if epoch % 5 == 0:
            print(f"epoch {epoch} loss {total / len(train_loader):.4f} val rmse {rmse:.2f}")
        if stopper.step(rmse, model, epoch):
            break
    model.load_state_dict(torch.load(stopper.path))
left = torch.tensor([y for _, y in test])
print(f"stopped at {epoch}, best {stopper.best_epoch}, test rmse {evaluate(model, test_loader):.2f}, of the mean {left.std():.2f}")
