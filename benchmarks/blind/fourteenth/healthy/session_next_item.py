"""Next item of a shopping session: GRU over sessions of any length, negatives drawn by popularity, early stopping on recall."""

import argparse
import copy
import random

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset, Sampler

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=8e-3)
parser.add_argument("--steps", type=int, default=9, help="at most so many epochs")
args = parser.parse_args()
torch.manual_seed(args.seed)
np.random.seed(args.seed)
random.seed(args.seed)
torch.set_num_threads(1)

ITEMS, GROUPS, PAD = 300, 12, 0


def simulate_sessions(n):
    """A walk through the catalogue: mostly the next items of the same group, at times a jump; popular items come more often."""
    group = np.random.randint(0, GROUPS, ITEMS + 1)
    popularity = np.random.zipf(1.6, ITEMS + 1).clip(max=60).astype(float)
    follower = {i: np.random.randint(1, ITEMS + 1, 3) for i in range(1, ITEMS + 1)}
    members = [np.flatnonzero(group[1:] == g) + 1 for g in range(GROUPS)]
    sessions = []
    while len(sessions) < n:
        item = random.choices(range(1, ITEMS + 1), weights=popularity[1:])[0]
        walk = [item]
        while random.random() < 0.86 and len(walk) < 25:
            draw = random.random()
            if draw < 0.6:
                item = int(random.choice(follower[item]))
            elif draw < 0.85:
                own = members[group[item]]
                item = int(random.choices(own, weights=popularity[own])[0])
            else:
                item = random.randint(1, ITEMS)
            walk.append(item)
        if len(walk) >= 3:
            sessions.append(walk)
    return sessions


class Sessions(Dataset):
    """In training a random part of a long session; else all but the last item, which is the answer."""

    def __init__(self, sessions, training, longest=15):
        self.sessions, self.training, self.longest = sessions, training, longest

    def __len__(self):
        return len(self.sessions)

    def __getitem__(self, row):
        walk = self.sessions[row]
        if self.training and len(walk) > self.longest:
            start = random.randrange(len(walk) - self.longest)
            walk = walk[start : start + self.longest]
        return torch.tensor(walk[:-1]), torch.tensor(walk[1:])


class ByLength(Sampler):
    """Batches of similar lengths, drawn in a new order each epoch, short sessions left out while `least` is above them."""

    def __init__(self, sessions, batch_size):
        self.lengths, self.batch_size, self.least = np.array([len(s) for s in sessions]), batch_size, 3

    def __len__(self):
        return int(np.ceil((self.lengths >= self.least).sum() / self.batch_size))

    def __iter__(self):
        rows = np.flatnonzero(self.lengths >= self.least)
        rows = rows[np.argsort(self.lengths[rows] + 2 * np.random.rand(len(rows)), kind="stable")]
        batches = [rows[i : i + self.batch_size].tolist() for i in range(0, len(rows), self.batch_size)]
        random.shuffle(batches)
        return iter(batches)


def collate(batch):
    lengths = torch.tensor([len(x) for x, _ in batch])
    x, y = (pad_sequence(column, batch_first=True, padding_value=PAD) for column in zip(*batch))
    return x, y, lengths


class SessionGRU(nn.Module):
    def __init__(self, dim=40):
        super().__init__()
        self.items = nn.Embedding(ITEMS + 1, dim, padding_idx=PAD)
        self.drop = nn.Dropout(0.15)
        self.gru = nn.GRU(dim, dim, batch_first=True)
        self.bias = nn.Parameter(torch.zeros(ITEMS + 1))

    def forward(self, x, lengths):
        packed = pack_padded_sequence(self.drop(self.items(x)), lengths, batch_first=True, enforce_sorted=False)
        return pad_packed_sequence(self.gru(packed)[0], batch_first=True)[0]

    def score(self, states, items):
        return (states.unsqueeze(-2) * self.items(items)).sum(-1) + self.bias[items]


@torch.no_grad()
def recall(model, loader, k=10):
    model.eval()
    hits = seen = 0
    for x, y, lengths in loader:
        last = model(x, lengths)[torch.arange(len(x)), lengths - 1]
        scores = last @ model.items.weight.T + model.bias
        scores[:, PAD] = -torch.inf
        scores.scatter_(1, x, -torch.inf)
        answer = y[torch.arange(len(x)), lengths - 1]
        hits += (scores.topk(k, 1).indices == answer[:, None]).any(1).sum().item()
        seen += len(x)
    return hits / seen


sessions = simulate_sessions(2800)
train, valid, test = sessions[:2200], sessions[2200:2500], sessions[2500:]
counts = torch.bincount(torch.tensor(sum(train, [])), minlength=ITEMS + 1).float()
counts[PAD] = 0
sampler = ByLength(train, 64)
train_loader = DataLoader(Sessions(train, True), batch_sampler=sampler, collate_fn=collate)
valid_loader, test_loader = (DataLoader(Sessions(part, False), batch_size=200, collate_fn=collate) for part in (valid, test))
model = SessionGRU()
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
best, kept, waited = 0.0, None, 0
for epoch in range(args.steps):
    sampler.least = 6 if epoch < 1 else 3
    negatives = 16 if epoch < 4 else 32
    model.train()
    total = 0.0
    for x, y, lengths in train_loader:
        real = y != PAD
        states = model(x, lengths)[real]
        drawn = torch.multinomial(counts.pow(0.75), negatives, replacement=True).expand(len(states), -1)
        scores = model.score(states, torch.cat([y[real][:, None], drawn], dim=1))
        again = F.pad(drawn == y[real][:, None], (1, 0))
        loss = F.cross_entropy(scores.masked_fill(again, -1e4), torch.zeros(len(states), dtype=torch.long))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    score = recall(model, valid_loader)
    print(f"epoch {epoch + 1}: {len(sampler)} batches, loss {total / len(sampler):.3f}, valid recall@10 {score:.3f}")
    if score > best:
        best, kept, waited = score, copy.deepcopy(model.state_dict()), 0
    elif (waited := waited + 1) >= 3:
        break
model.load_state_dict(kept)
print(f"stopped after {epoch + 1} epochs, test recall@10 {recall(model, test_loader):.3f}")
