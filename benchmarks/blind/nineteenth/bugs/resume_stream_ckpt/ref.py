"""One pass over a sharded token stream, stopped half way and resumed from its checkpoint."""
import argparse
import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, LENGTH = 20, 16


def write_shards(folder, shards, rows, seed):
    """Written as a curriculum: shard s mixes the first s + 1 rules (next = x + stride, mod VOCAB)."""
    g = torch.Generator().manual_seed(seed)
    paths = []
    for s in range(shards):
        start = torch.randint(0, VOCAB, (rows, 1), generator=g)
        stride = 2 * torch.randint(0, s + 1, (rows, 1), generator=g) + 1
        seq = (start + stride * torch.arange(LENGTH)) % VOCAB
        noise = torch.rand(seq.shape, generator=g) < 0.02
        seq[noise] = torch.randint(0, VOCAB, (int(noise.sum()),), generator=g)
        paths.append(os.path.join(folder, f"shard_{s:03d}.pt"))
        torch.save(seq, paths[-1])
    return paths


class ShardLoader:
    """Streams batches that take a few rows of `window` shards at a time."""

    def __init__(self, paths, batch, window=2):
        self.paths, self.batch, self.window = paths, batch, window
        self.group, self.row = 0, 0
        self.cache = None

    def _open(self):
        files = self.paths[self.group * self.window:(self.group + 1) * self.window]
        rows = torch.cat([torch.load(f) for f in files])
        order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(self.group))
        return rows[order]

    def __iter__(self):
        return self

    def __next__(self):
        if self.group * self.window >= len(self.paths):
            self.group, self.row, self.cache = 0, 0, None
        if self.cache is None:
            self.cache = self._open()
        out = self.cache[self.row:self.row + self.batch]
        self.row += self.batch
        if self.row + self.batch > len(self.cache):
            self.group, self.row, self.cache = self.group + 1, 0, None
        return out

    def state_dict(self):
        return {"group": self.group, "row": self.row}

    def load_state_dict(self, state):
        self.group, self.row, self.cache = state["group"], state["row"], None


class StreamLM(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.conv = nn.Conv1d(dim, dim, 3)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Sequential(nn.Linear(dim, dim), nn.GELU(), nn.Linear(dim, VOCAB))

    def forward(self, ids):
        e = self.embed(ids).transpose(1, 2)
        h = F.gelu(self.conv(F.pad(e, (2, 0)))).transpose(1, 2)
        return self.head(self.rnn(h)[0])


def loss_of(model, seq):
    logits = model(seq[:, :-1])
    return F.cross_entropy(logits[:, 1:].flatten(0, 1), seq[:, 2:].flatten())


def save(path, step, model, opt, sched, loader):
    torch.save({
        "step": step,
        "model": model.state_dict(),
        "opt": opt.state_dict(),
        "sched": sched.state_dict(),
        "loader": loader.state_dict(),
    }, path)


def load(path, model, opt, sched, loader):
    state = torch.load(path)
    model.load_state_dict(state["model"])
    opt.load_state_dict(state["opt"])
    sched.load_state_dict(state["sched"])
    loader.load_state_dict(state["loader"])
    return state["step"]


def build(args, paths):
    model = StreamLM()
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    sched = torch.optim.lr_scheduler.LinearLR(opt, 1.0, 0.2, total_iters=args.steps)
    return model, opt, sched, ShardLoader(paths, args.batch)


def fit(model, opt, sched, loader, step, until):
    for step in range(step + 1, until + 1):
        loss = loss_of(model, next(loader))
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
        if step % 20 == 0:
            print(f"step {step} loss {loss.item():.4f}", flush=True)
    return step


@torch.no_grad()
def evaluate(model, folder, shards):
    hardest = write_shards(folder, shards, 256, seed=10_000)[-1]
    return loss_of(model, torch.load(hardest)).item()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--lr", type=float, default=4e-3)
    p.add_argument("--steps", type=int, default=120)
    p.add_argument("--batch", type=int, default=48)
    p.add_argument("--shards", type=int, default=8)
    args = p.parse_args()
    torch.manual_seed(args.seed)
    with tempfile.TemporaryDirectory() as tmp:
        rows = args.steps * args.batch // args.shards
        paths = write_shards(tmp, args.shards, rows, args.seed)
        ckpt = os.path.join(tmp, "state.pt")
        parts = build(args, paths)
        step = fit(*parts, 0, args.steps // 2)
        save(ckpt, step, *parts)

        parts = build(args, paths)
        step = load(ckpt, *parts)
        fit(*parts, step, args.steps)
        os.makedirs(os.path.join(tmp, "valid"))
        print(f"EVIDENCE all_rules_loss={evaluate(parts[0], os.path.join(tmp, 'valid'), args.shards):.4f}", flush=True)


if __name__ == "__main__":
    main()
