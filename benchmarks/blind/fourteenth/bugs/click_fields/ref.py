"""Click prediction on a log of impressions: DeepFM over five categorical fields, thinned negatives, recalibrated probabilities."""

import argparse

import numpy as np
import torch
from sklearn.metrics import log_loss, roc_auc_score
from torch import nn
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=4e-3)
parser.add_argument("--steps", type=int, default=7, help="epochs")
args = parser.parse_args()

torch.manual_seed(args.seed)
torch.set_num_threads(1)
FIELDS = {"device": 6, "hour": 24, "category": 18, "user": 160, "ad": 120}
KEEP_NEGATIVES = 0.35


def simulate_log(n, rng):
    """Clicks depend on the single fields and on pairs of them (hour x category, user x category, device x ad)."""
    columns = np.stack([rng.integers(0, size, n) for size in FIELDS.values()], 1)
    device, hour, category, user, ad = columns.T
    single = [rng.normal(0, 0.5, size) for size in FIELDS.values()]
    latent = {name: rng.normal(0, 1, (size, 3)) for name, size in FIELDS.items()}
    score = -2.6 + sum(effect[column] for effect, column in zip(single, columns.T))
    score += 0.7 * (latent["hour"][hour] * latent["category"][category]).sum(1)
    score += 0.6 * (latent["user"][user] * latent["category"][category]).sum(1)
    score += 0.6 * (latent["device"][device] * latent["ad"][ad]).sum(1)
    return columns, (rng.random(n) < 1 / (1 + np.exp(-score))).astype(np.float32)


class Impressions(Dataset):
    def __init__(self, columns, clicks):
        self.columns = torch.as_tensor(columns, dtype=torch.long)
        self.clicks = torch.as_tensor(clicks)

    def __len__(self):
        return len(self.clicks)

    def __getitems__(self, rows):
        return self.columns[rows], self.clicks[rows]


class FieldEmbedding(nn.Module):
    """One table for all the fields; a field's codes are moved behind those of the fields before it."""

    def __init__(self, field_dims, dim):
        super().__init__()
        self.table = nn.Embedding(int(sum(field_dims)), dim)
        offsets = np.concatenate(([0], np.cumsum(field_dims)[:-1]))
        self.register_buffer("offsets", torch.as_tensor(offsets, dtype=torch.long))
        nn.init.normal_(self.table.weight, std=0.05)

    def rows(self, codes):
        return codes + self.offsets

    def forward(self, codes):
        return self.table(self.rows(codes))


class DeepFM(nn.Module):
    def __init__(self, field_dims, dim=8, hidden=48, dropout=0.1):
        super().__init__()
        self.first = FieldEmbedding(field_dims, 1)
        self.factors = FieldEmbedding(field_dims, dim)
        self.deep = nn.Sequential(
            nn.Linear(len(field_dims) * dim, hidden), nn.ReLU(), nn.Dropout(dropout), nn.Linear(hidden, 1)
        )
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, codes):
        v = self.factors(codes)
        pairs = 0.5 * (v.sum(1).pow(2) - v.pow(2).sum(1)).sum(1)
        return self.bias + self.first(codes).sum((1, 2)) + pairs + self.deep(v.flatten(1)).squeeze(1)


@torch.no_grad()
def predict(model, data):
    model.eval()
    logits = torch.cat([model(codes) for codes, _ in DataLoader(data, batch_size=2048, collate_fn=lambda b: b)])
    return torch.sigmoid(logits + np.log(KEEP_NEGATIVES)).double().numpy()


def main():
    rng = np.random.default_rng(args.seed)
    columns, clicks = simulate_log(60000, rng)
    cut = int(0.8 * len(clicks))
    kept = np.flatnonzero((clicks[:cut] == 1) | (rng.random(cut) < KEEP_NEGATIVES))
    train = Impressions(columns[kept], clicks[kept])
    test = Impressions(columns[cut:], clicks[cut:])
    loader = DataLoader(train, batch_size=256, shuffle=True, collate_fn=lambda batch: batch)

    model = DeepFM(list(FIELDS.values()))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.02)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, args.lr * 2, args.steps * len(loader))
    criterion = nn.BCEWithLogitsLoss()
    for epoch in range(args.steps):
        model.train()
        total = 0.0
        for codes, click in loader:
            optimizer.zero_grad(set_to_none=True)
            loss = criterion(model(codes), click)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            scheduler.step()
            total += loss.item() * len(click)
        p = predict(model, test)
        auc = roc_auc_score(test.clicks, p)
        print(f"epoch {epoch + 1} train {total / len(train):.4f} test auc {auc:.4f} log loss {log_loss(test.clicks, p):.4f}")
    print(f"predicted rate {p.mean():.4f} actual {test.clicks.mean():.4f}")
    rows = [set(model.factors.rows(test.columns)[:, k].tolist()) for k in range(len(FIELDS))]
    shared = sum(map(len, rows)) - len(set().union(*rows))
    print(f"EVIDENCE {shared} of {sum(FIELDS.values())} codes share a row with another field, test auc {auc:.4f}")


if __name__ == "__main__":
    main()
