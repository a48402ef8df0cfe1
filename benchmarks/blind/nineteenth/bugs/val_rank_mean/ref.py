"""Bracket language model on two ranks; the validation loss drives ReduceLROnPlateau and the choice of the best weights."""
import argparse
import copy
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F

PAIRS = 4
PAD, BOS, EOS = 0, 1, 2
OPEN = [3 + i for i in range(PAIRS)]
CLOSE = [3 + PAIRS + i for i in range(PAIRS)]
VOCAB = 3 + 2 * PAIRS


def bracket_string(g, max_len):
    out, stack = [BOS], []
    while len(out) + len(stack) < max_len:
        if stack and torch.rand(1, generator=g).item() < 0.45:
            out.append(CLOSE[stack.pop()])
        elif not stack and len(out) > 1 and torch.rand(1, generator=g).item() < 0.1:
            break
        else:
            stack.append(int(torch.randint(0, PAIRS, (1,), generator=g)))
            out.append(OPEN[stack[-1]])
    out += [CLOSE[k] for k in reversed(stack)]
    return torch.tensor(out + [EOS])


def corpus(n, seed):
    g = torch.Generator().manual_seed(seed)
    lengths = torch.randint(4, 40, (n,), generator=g).tolist()
    return [bracket_string(g, m) for m in lengths]


def pad_batch(rows):
    return nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PAD)


class BracketLM(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim, padding_idx=PAD)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, VOCAB)

    def forward(self, ids):
        return self.head(self.rnn(self.embed(ids))[0])


def summed_loss(model, batch):
    logits, target = model(batch[:, :-1]), batch[:, 1:]
    total = F.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=PAD, reduction="sum")
    return total, (target != PAD).sum()


def train_step(model, opt, batch):
    total, count = summed_loss(model, batch)
    count = count.float()
    dist.all_reduce(count)
    opt.zero_grad()
    (total / count).backward()
    for p in model.parameters():
        dist.all_reduce(p.grad)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    return (total / count).item()


@torch.no_grad()
def validate(model, shard, batch=64):
    model.eval()
    stats = torch.zeros(2, dtype=torch.float64)
    for i in range(0, len(shard), batch):
        total, count = summed_loss(model, pad_batch(shard[i:i + batch]))
        stats += torch.stack([total, count]).double()
    model.train()
    dist.all_reduce(stats)
    return (stats[0] / stats[1]).item()


def worker(rank, world, args, init_file):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{init_file}", rank=rank, world_size=world)
    torch.manual_seed(args.seed)
    model = BracketLM()
    train = corpus(400, 100 + args.seed)[rank::world]
    held_out = sorted(corpus(200, 55), key=len)          # sorted, so that batches hold little padding
    half = len(held_out) // world
    shard = held_out[rank * half:(rank + 1) * half]

    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, factor=0.5, patience=0)
    best, best_state = float("inf"), None
    g = torch.Generator().manual_seed(args.seed + 10 * rank)
    for step in range(1, args.steps + 1):
        pick = torch.randint(0, len(train), (args.batch,), generator=g).tolist()
        loss = train_step(model, opt, pad_batch([train[i] for i in pick]))
        if step % 10 == 0:
            val = validate(model, shard)
            plateau.step(val)
            if val < best:
                best, best_state = val, copy.deepcopy(model.state_dict())
            if rank == 0:
                print(f"step {step} loss {loss * world:.4f} val {val:.4f} lr {opt.param_groups[0]['lr']:.5f}", flush=True)
    model.load_state_dict(best_state)
    if rank == 0:
        print(f"EVIDENCE best_val_loss={best:.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--lr", type=float, default=1e-2)
    p.add_argument("--steps", type=int, default=80)
    p.add_argument("--batch", type=int, default=16)
    args = p.parse_args()
    with tempfile.TemporaryDirectory() as tmp:
        mp.spawn(worker, args=(2, args, os.path.join(tmp, "init")), nprocs=2)


if __name__ == "__main__":
    main()
