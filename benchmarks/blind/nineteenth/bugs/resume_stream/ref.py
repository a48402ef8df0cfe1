"""Pretraining in two jobs: the first stops half way, the second resumes from its checkpoint."""
import argparse
import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB = 32
SEQ = 40
TOPICS = 8


def build_shards(n_rows, seed):
    """Token rows ordered by shard; every shard holds text of one topic."""
    rng = np.random.default_rng(seed)
    topic_rng = np.random.default_rng(77)
    tables = [topic_rng.permutation(VOCAB) for _ in range(TOPICS)]
    rows = []
    for i in range(n_rows):
        topic = i * TOPICS // n_rows
        offset = 4 * topic
        tok = rng.integers(4) + offset
        row = []
        for _ in range(SEQ + 1):
            row.append(tok)
            if rng.random() < 0.85:
                tok = offset + (tables[topic][tok] % 4)
            else:
                tok = offset + rng.integers(4)
        rows.append(row)
    return torch.tensor(np.array(rows))


class StatefulLoader:
    """Sequential loader with a position that can be saved and restored."""

    def __init__(self, rows, batch_size):
        self.rows = rows
        self.batch_size = batch_size
        self.position = 0

    def __iter__(self):
        return LoaderIterator(self, self.position)

    def state_dict(self):
        return {"position": self.position}

    def load_state_dict(self, state):
        self.position = state["position"]


class LoaderIterator:
    def __init__(self, loader, start):
        self.loader = loader
        self.cursor = start

    def __iter__(self):
        return self

    def __next__(self):
        n = len(self.loader.rows)
        index = torch.arange(self.cursor, self.cursor + self.loader.batch_size) % n
        self.cursor = (self.cursor + self.loader.batch_size) % n
        self.loader.position = self.cursor
        return self.loader.rows[index]


class RNNLM(nn.Module):
    def __init__(self, dim=96):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.rnn = nn.LSTM(dim, dim, batch_first=True)
        self.norm = nn.LayerNorm(dim)
        self.out = nn.Linear(dim, VOCAB)

    def forward(self, ids):
        h, _ = self.rnn(self.embed(ids))
        return self.out(self.norm(h))

    def loss(self, rows):
        return F.cross_entropy(self(rows[:, :-1]).transpose(1, 2), rows[:, 1:])


class CheckpointManager:
    def __init__(self, path):
        self.path = path

    def save(self, step, model, optimizer, loader):
        torch.save({"step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict(),
                    "loader": loader.state_dict()}, self.path)

    def exists(self):
        return os.path.exists(self.path)

    def load(self, model, optimizer, loader):
        ckpt = torch.load(self.path, weights_only=True)
        model.load_state_dict(ckpt["model"])
        optimizer.load_state_dict(ckpt["optimizer"])
        loader.load_state_dict(ckpt["loader"])
        return ckpt["step"]


def job(args, rows, manager, until):
    torch.manual_seed(args.seed)
    model = RNNLM()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    loader = StatefulLoader(rows, args.batch_size)
    step = 0
    if manager.exists():
        step = manager.load(model, optimizer, loader)
        print(f"resumed at step {step}")
    batches = iter(loader)
    model.train()
    while step < until:
        loss = model.loss(next(batches))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        step += 1
        if step % 20 == 0:
            print(f"step {step} loss {loss.item():.4f}")
    manager.save(step, model, optimizer, loader)
    return model


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=120)
    ap.add_argument("--batch_size", type=int, default=24)
    args = ap.parse_args()

    rows = build_shards(args.steps * args.batch_size, args.seed)
    held_out = build_shards(240, args.seed + 1000)
    with tempfile.TemporaryDirectory() as folder:
        manager = CheckpointManager(os.path.join(folder, "last.pt"))
        job(args, rows, manager, until=args.steps // 2)
        model = job(args, rows, manager, until=args.steps)
    model.eval()
    with torch.no_grad():
        late = model.loss(held_out[180:]).item()
        total = model.loss(held_out).item()
    print(f"EVIDENCE val_loss={total:.4f} last_shards={late:.4f}")


if __name__ == "__main__":
    main()
