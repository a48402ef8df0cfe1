"""Character model on two gloo ranks with gradient accumulation over micro-batches of unequal length."""
import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F

WORLD, VOCAB, PAD = 2, 24, 0


class Corpus:
    """Short chat lines and long log lines; both kinds are Markov chains of their own."""

    def __init__(self, seed):
        world = torch.Generator().manual_seed(3)
        self.short = torch.softmax(1.5 * torch.randn(VOCAB, VOCAB, generator=world), 1)
        self.long = torch.softmax(2.5 * torch.randn(VOCAB, VOCAB, generator=world), 1)
        for table in (self.short, self.long):
            table[:, PAD] = 0
        self.gen = torch.Generator().manual_seed(seed)

    def lines(self, n, kind):
        table, low, high = (self.short, 3, 7) if kind == "short" else (self.long, 30, 48)
        lengths = torch.randint(low, high, (n,), generator=self.gen)
        tokens = [torch.randint(1, VOCAB, (n,), generator=self.gen)]
        for _ in range(int(lengths.max()) - 1):
            tokens.append(torch.multinomial(table[tokens[-1]], 1, generator=self.gen).squeeze(1))
        out = torch.stack(tokens, 1)
        return out.masked_fill(torch.arange(out.shape[1]) >= lengths[:, None], PAD)


class CharGRU(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, dim, padding_idx=PAD)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, VOCAB)

    def forward(self, x):
        return self.head(self.rnn(self.emb(x))[0])


def token_loss(model, batch):
    logits = model(batch[:, :-1])
    return F.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten(), ignore_index=PAD, reduction="sum")


def average_gradients(model):
    """Mean over the ranks, as DistributedDataParallel does it."""
    for p in model.parameters():
        dist.all_reduce(p.grad, op=dist.ReduceOp.SUM)
        p.grad /= WORLD


def train_step(model, opt, micro_batches, max_norm=1.0):
    n_tokens = torch.tensor(float(sum((mb[:, 1:] != PAD).sum() for mb in micro_batches)))
    dist.all_reduce(n_tokens, op=dist.ReduceOp.SUM)
    opt.zero_grad()
    total = torch.zeros(())
    for mb in micro_batches:
        loss = token_loss(model, mb) * WORLD / n_tokens
        loss.backward()
        total += loss.detach()
    average_gradients(model)
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    opt.step()
    dist.all_reduce(total)
    return total.item() / WORLD


def broadcast_weights(model):
    for p in model.parameters():
        dist.broadcast(p.data, src=0)


@torch.no_grad()
def nll_per_token(model, batches):
    total, count = 0.0, 0
    for batch in batches:
        total += token_loss(model, batch).item()
        count += int((batch[:, 1:] != PAD).sum())
    return total / count


def worker(rank, args, init_file):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{init_file}", rank=rank, world_size=WORLD)
    torch.manual_seed(args.seed)
    model = CharGRU()
    broadcast_weights(model)
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    corpus = Corpus(100 * args.seed + rank)
    kind = "short" if rank == 0 else "long"
    for step in range(1, args.steps + 1):
        micro_batches = [corpus.lines(16, kind) for _ in range(2)]
        loss = train_step(model, opt, micro_batches)
        if rank == 0 and step % 20 == 0:
            print(f"step {step:4d} loss per token {loss:.4f}", flush=True)
    if rank == 0:
        held_out = Corpus(50_000 + args.seed)
        short, long = [held_out.lines(64, "short")], [held_out.lines(64, "long")]
        print(f"EVIDENCE nll_all={nll_per_token(model, short + long):.4f} "
              f"nll_short={nll_per_token(model, short):.4f} nll_long={nll_per_token(model, long):.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=1e-2)
    ap.add_argument("--steps", type=int, default=80)
    args = ap.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(worker, args=(args, os.path.join(folder, "init")), nprocs=WORLD)


if __name__ == "__main__":
    main()
