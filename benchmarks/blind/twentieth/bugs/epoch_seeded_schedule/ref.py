"""Draft head for a frozen next-token table: the scheduler state is not in old checkpoints, the schedule is rebuilt on resume."""
import argparse
import math
import tempfile
from pathlib import Path

import torch
import torch.nn as nn

TOKENS = 24


def markov_table():
    g = torch.Generator().manual_seed(8)
    return torch.softmax(2.5 * torch.randn(TOKENS, TOKENS, generator=g), dim=1)


def cosine_with_warmup(optimizer, warmup, total, last_epoch=-1):
    def scale(k):
        if k < warmup:
            return (k + 1) / warmup
        return 0.5 * (1 + math.cos(math.pi * min(1.0, (k - warmup) / max(1, total - warmup))))
    return torch.optim.lr_scheduler.LambdaLR(optimizer, scale, last_epoch)


class DraftHead(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.embed = nn.Embedding(TOKENS, dim)
        self.ff = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, TOKENS))

    def forward(self, tokens):
        return self.ff(self.embed(tokens))


class Checkpointer:
    def __init__(self, folder):
        self.path = Path(folder) / "checkpoint.pt"
        self.previous_epoch, self.global_step = -1, 0

    def save(self, model, optimizer, epoch, global_step):
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(),
                    "epoch": epoch, "global_step": global_step}, self.path)

    def load(self, model, optimizer):
        state = torch.load(self.path)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        self.previous_epoch, self.global_step = state["epoch"], state["global_step"]


def setup_scheduler(optimizer, checkpointer, args):
    resumed = checkpointer.global_step > 0
    for group in optimizer.param_groups:
        group.setdefault("initial_lr", args.lr)
    seed_step = checkpointer.global_step - 1 if resumed else -1
    return cosine_with_warmup(optimizer, args.warmup, args.steps, last_epoch=seed_step)


def train(args, folder, until, resume):
    torch.manual_seed(args.seed)
    model, table = DraftHead(), markov_table()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    checkpointer = Checkpointer(folder)
    if resume:
        checkpointer.load(model, optimizer)
    scheduler = setup_scheduler(optimizer, checkpointer, args)
    gen = torch.Generator().manual_seed(args.seed + checkpointer.global_step)
    lrs = []
    for step in range(checkpointer.global_step, until):
        context = torch.randint(0, TOKENS, (64,), generator=gen)
        target = torch.multinomial(table[context], 1, generator=gen).squeeze(1)
        loss = nn.functional.cross_entropy(model(context), target)
        optimizer.zero_grad()
        loss.backward()
        lrs.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
        if (step + 1) % args.epoch_len == 0:
            checkpointer.save(model, optimizer, (step + 1) // args.epoch_len - 1, step + 1)
            print(f"epoch {(step + 1) // args.epoch_len - 1} loss {loss.item():.4f} lr {lrs[-1]:.2e}")
    return lrs


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--lr", type=float, default=5e-3)
    p.add_argument("--steps", type=int, default=240)
    p.add_argument("--warmup", type=int, default=40)
    p.add_argument("--epoch-len", type=int, default=40)
    args = p.parse_args()
    torch.set_num_threads(1)
    stop = args.steps // 2 // args.epoch_len * args.epoch_len or args.epoch_len
    with tempfile.TemporaryDirectory() as folder:
        before = train(args, folder, stop, resume=False)
        after = train(args, folder, args.steps, resume=True)
    print(f"EVIDENCE lr_before={before[-1] / args.lr:.3f} lr_after={after[0] / args.lr:.3f} final={after[-1] / args.lr:.3f}")
