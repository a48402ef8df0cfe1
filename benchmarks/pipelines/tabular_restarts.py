"""A click model on a table: embeddings with a rate of their own, batches of rows from a sampler, warm restarts by batches."""

import numpy as np
import torch
from sklearn.metrics import roc_auc_score
from torch import nn
from torch.utils.data import BatchSampler, DataLoader, Dataset, RandomSampler, SequentialSampler

from options import options

SIZES = [12, 40, 7]
N, N_TRAIN = 4000, 3200


def make_table(seed):
    rng = np.random.default_rng(seed)
    kinds = np.stack([rng.integers(0, size, N) for size in SIZES], 1)
    numbers = rng.normal(size=(N, 6)).astype(np.float32)
    score = sum(rng.normal(size=size)[kinds[:, i]] for i, size in enumerate(SIZES))
    score += numbers[:, 0] * numbers[:, 1] + 0.5 * numbers[:, 2] + rng.normal(size=N)
    return [torch.from_numpy(a) for a in (kinds, numbers, (score > 1.2).astype(np.float32))]


class Rows(Dataset):
    """Is asked for whole batches: the sampler hands lists of rows."""

    def __init__(self, columns):
        self.columns = columns

    def __len__(self):
        return len(self.columns[0])

    def __getitem__(self, rows):
        return [column[rows] for column in self.columns]


class ClickModel(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(size, min(16, (size + 1) // 2)) for size in SIZES)
        self.dropout, self.norm = nn.Dropout(0.05), nn.BatchNorm1d(6)
        n = sum(table.embedding_dim for table in self.tables) + 6
        self.mlp = nn.Sequential(nn.Linear(n, width), nn.GELU(), nn.LayerNorm(width), nn.Dropout(0.1),
                                 nn.Linear(width, width // 2), nn.GELU(), nn.Linear(width // 2, 1))

    def forward(self, kinds, numbers):
        embedded = [table(kinds[:, i]) for i, table in enumerate(self.tables)]
        return self.mlp(torch.cat([self.dropout(torch.cat(embedded, 1)), self.norm(numbers)], 1)).squeeze(1)


def loader(columns, sampler):
    rows = Rows(columns)
    return DataLoader(rows, sampler=BatchSampler(sampler(rows), 128, drop_last=False), batch_size=None)


def main():
    args = options(lr=3e-3, width=64, steps=100)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    table = make_table(args.seed)
    train = loader([c[:N_TRAIN] for c in table], RandomSampler)
    valid = loader([c[N_TRAIN:] for c in table], SequentialSampler)
    model = ClickModel(args.width)
    rest = [p for name, p in model.named_parameters() if not name.startswith("tables")]
    groups = [{"params": model.tables.parameters(), "lr": args.lr * 0.3, "weight_decay": 0.0}, {"params": rest}]
    optimizer = torch.optim.AdamW(groups, lr=args.lr, weight_decay=0.01)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=1, T_mult=2)
    clicked = table[2][:N_TRAIN].mean()
    criterion = nn.BCEWithLogitsLoss(pos_weight=(1 - clicked) / clicked)
    for epoch in range(max(2, args.steps // len(train))):
        model.train()
        for i, (kinds, numbers, label) in enumerate(train):
            loss = criterion(model(kinds, numbers), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step(epoch + i / len(train))
        model.eval()
        with torch.no_grad():
            answers = [(label, model(kinds, numbers)) for kinds, numbers, label in valid]
        auc = roc_auc_score(*(torch.cat(column) for column in zip(*answers)))
        print(f"epoch {epoch}: loss {loss.item():.4f}, area under the curve {auc:.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
