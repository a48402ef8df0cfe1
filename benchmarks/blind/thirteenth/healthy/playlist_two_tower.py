"""Recommender: two towers with in-batch negatives and popularity correction, hit rate on the last play of each user."""

import argparse
import copy

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=5e-3)
parser.add_argument("--steps", type=int, default=6, help="epochs")
args = parser.parse_args()
torch.manual_seed(args.seed)
rng = np.random.default_rng(args.seed)
torch.set_num_threads(1)

USERS, ITEMS, GENRES, HISTORY = 500, 300, 12, 10


def make_plays():
    """Each user has a taste over genres; tracks have a genre and a popularity; some listen more than others."""
    genre = rng.integers(0, GENRES, ITEMS)
    popularity = 1.0 / (1 + rng.permutation(ITEMS)) ** 0.6
    taste = rng.dirichlet(np.full(GENRES, 0.15), USERS)
    plays = []
    for user in range(USERS):
        p = popularity * (0.01 + taste[user][genre])
        count = 4 + rng.poisson(12)
        plays.append(rng.choice(ITEMS, size=count, replace=False, p=p / p.sum()))
    return genre, plays


class Plays(Dataset):
    """One example is a play and up to HISTORY tracks before it; item 0 pads."""

    def __init__(self, plays, first, last):
        self.rows = [
            (user, max(0, k - HISTORY), k) for user, tracks in enumerate(plays)
            for k in range(first, len(tracks)) if (k >= len(tracks) - 1) == last
        ]
        self.plays = plays

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        user, start, k = self.rows[i]
        return user, torch.as_tensor(self.plays[user][start:k] + 1), int(self.plays[user][k]) + 1


def collate(batch):
    users, histories, targets = zip(*batch)
    return torch.tensor(users), nn.utils.rnn.pad_sequence(histories, batch_first=True), torch.tensor(targets)


class TwoTower(nn.Module):
    def __init__(self, genre, dim=32):
        super().__init__()
        self.register_buffer("genre", torch.cat([torch.zeros(1, dtype=torch.long), torch.as_tensor(genre) + 1]))
        self.item = nn.Embedding(ITEMS + 1, dim, padding_idx=0)
        self.genre_table = nn.Embedding(GENRES + 1, dim, padding_idx=0)
        self.user_net = nn.Sequential(nn.Linear(dim, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, dim))
        self.item_net = nn.Sequential(nn.Linear(dim, 64), nn.ReLU(), nn.Linear(64, dim))
        for table in (self.item, self.genre_table):
            nn.init.normal_(table.weight, std=0.1)
            nn.init.zeros_(table.weight[0])

    def lookup(self, items):
        return self.item(items) + self.genre_table(self.genre[items])

    def users(self, history):
        mask = (history > 0).unsqueeze(-1).float()
        pooled = (self.lookup(history) * mask).sum(1) / mask.sum(1).clamp(min=1)
        return F.normalize(self.user_net(pooled), dim=-1)

    def items(self, items):
        return F.normalize(self.item_net(self.lookup(items)), dim=-1)


genre, plays = make_plays()
train_loader = DataLoader(Plays(plays, 1, False), batch_size=256, shuffle=True, collate_fn=collate)
valid_loader = DataLoader(Plays(plays, 1, True), batch_size=256, collate_fn=collate)
frequency = torch.ones(ITEMS + 1)
for tracks in plays:
    frequency[torch.as_tensor(tracks[:-1]) + 1] += 1
log_q = (frequency / frequency.sum()).log()

model = TwoTower(genre)
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.9)


@torch.no_grad()
def evaluate(k=20):
    model.eval()
    catalogue = model.items(torch.arange(ITEMS + 1))
    hits = seen = 0
    for _, history, target in valid_loader:
        scores = model.users(history) @ catalogue.t()
        scores[:, 0] = float("-inf")
        scores.scatter_(1, history, float("-inf"))
        top = scores.topk(k, dim=1).indices
        hits += (top == target.unsqueeze(1)).any(1).sum().item()
        seen += len(target)
    return hits / seen


best, best_state = 0.0, None
for epoch in range(args.steps):
    model.train()
    total = 0.0
    for _, history, target in train_loader:
        logits = model.users(history) @ model.items(target).t() / 0.1 - log_q[target]
        same = (target[:, None] == target[None, :]) & ~torch.eye(len(target), dtype=torch.bool)
        loss = F.cross_entropy(logits.masked_fill(same, -1e9), torch.arange(len(target)))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        total += loss.item()
    scheduler.step()
    rate = evaluate()
    if rate > best:
        best, best_state = rate, copy.deepcopy(model.state_dict())
model.load_state_dict(best_state)
print(f"loss {total / len(train_loader):.4f}, hit rate at 20 {evaluate():.3f} (chance {20 / ITEMS:.3f})")
