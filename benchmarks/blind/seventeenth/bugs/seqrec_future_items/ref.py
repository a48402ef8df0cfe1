"""Self-attentive sequential recommendation (next item) with leave-last-out evaluation."""
import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

PAD = 0


def simulate_users(rng, n_users=500, n_items=80, max_len=24):
    """Items form a sparse Markov chain; each user jumps back to a favourite item now and then."""
    nexts = np.stack([rng.choice(n_items, size=3, replace=False) for _ in range(n_items)])
    histories = []
    for _ in range(n_users):
        favourite, item, history = rng.integers(n_items), rng.integers(n_items), []
        for _ in range(rng.integers(8, max_len)):
            history.append(int(item) + 1)
            item = favourite if rng.random() < 0.1 else rng.choice(nexts[item], p=[0.7, 0.2, 0.1])
        histories.append(history)
    return histories, n_items + 1


class NextItemDataset(Dataset):
    """Left-padded inputs; the targets are the inputs shifted by one item."""

    def __init__(self, histories, max_len):
        self.rows = []
        for h in histories:
            inp, tgt = h[:-1][-max_len:], h[1:][-max_len:]
            pad = [PAD] * (max_len - len(inp))
            self.rows.append((torch.tensor(pad + inp), torch.tensor(pad + tgt)))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


class Block(nn.Module):
    def __init__(self, dim, heads, dropout):
        super().__init__()
        self.attn = nn.MultiheadAttention(dim, heads, dropout=dropout, batch_first=True)
        self.ff = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.drop = nn.Dropout(dropout)

    def forward(self, x, mask):
        h = self.norm1(x)
        h, _ = self.attn(h, h, h, attn_mask=mask, need_weights=False)
        x = x + self.drop(h)
        return x + self.drop(self.ff(self.norm2(x)))


class SeqRec(nn.Module):
    def __init__(self, n_items, max_len, dim=48, heads=2, layers=2, dropout=0.1):
        super().__init__()
        self.item = nn.Embedding(n_items, dim, padding_idx=PAD)
        self.pos = nn.Embedding(max_len, dim)
        self.blocks = nn.ModuleList(Block(dim, heads, dropout) for _ in range(layers))
        self.norm, self.heads = nn.LayerNorm(dim), heads
        nn.init.normal_(self.item.weight, std=0.05)
        with torch.no_grad():
            self.item.weight[PAD].zero_()

    def attention_mask(self, items):
        """Boolean mask for the attention layers, True where a query must not look."""
        b, length = items.shape
        future = torch.ones(length, length, dtype=torch.bool).triu(1)
        blocked = (items == PAD)[:, None, :] | future
        blocked = blocked & ~torch.eye(length, dtype=torch.bool)
        return blocked.repeat_interleave(self.heads, dim=0)

    def forward(self, items):
        x = self.item(items) * self.item.embedding_dim ** 0.5 + self.pos.weight[: items.shape[1]]
        mask = self.attention_mask(items)
        for block in self.blocks:
            x = block(x, mask)
        return self.norm(x) @ self.item.weight.T


@torch.no_grad()
def leave_last_out(model, histories, max_len, k=5):
    """Rank the held-out last item against the whole catalogue."""
    model.eval()
    loader = DataLoader(NextItemDataset(histories, max_len), batch_size=128)
    hits, ndcg, n = 0.0, 0.0, 0
    for items, targets in loader:
        scores = model(items)[:, -1]
        scores[:, PAD] = float("-inf")
        truth = targets[:, -1]
        rank = (scores > scores.gather(1, truth[:, None])).sum(1)
        hits += (rank < k).float().sum().item()
        ndcg += torch.where(rank < k, 1 / torch.log2(rank + 2.0), torch.zeros(len(rank))).sum().item()
        n += len(truth)
    model.train()
    return hits / n, ndcg / n


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=4e-3)
    ap.add_argument("--steps", type=int, default=90)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    max_len = 20
    histories, n_items = simulate_users(np.random.default_rng(args.seed))
    train = NextItemDataset([h[:-1] for h in histories], max_len)
    loader = DataLoader(train, batch_size=64, shuffle=True, drop_last=True)
    model = SeqRec(n_items, max_len)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)

    step = 0
    while step < args.steps:
        for items, targets in loader:
            step += 1
            logits = model(items)
            loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=PAD)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            if step % 15 == 0:
                print(f"step {step:4d} loss {loss.item():.4f}")
            if step >= args.steps:
                break

    hit, ndcg = leave_last_out(model, histories, max_len)
    print(f"EVIDENCE hit@5={hit:.4f} ndcg@5={ndcg:.4f} train_loss={loss.item():.4f}")


if __name__ == "__main__":
    main()
