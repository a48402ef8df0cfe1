"""Two-process data-parallel training of a seq2seq-like LM with variable sequence lengths."""
import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

VOCAB = 18
PAD = 0
WORLD = 2


class TaggingNet(nn.Module):
    """Predicts the running sum (mod VOCAB - 1) of the tokens seen so far in a short window."""

    def __init__(self, dim=64):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, dim, padding_idx=PAD)
        self.conv = nn.Conv1d(dim, 128, kernel_size=2)
        self.out = nn.Sequential(nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, VOCAB))

    def forward(self, ids):
        x = self.emb(ids).transpose(1, 2)
        x = self.conv(F.pad(x, (1, 0))).transpose(1, 2)
        return self.out(x)


def make_batch(n, gen, max_len=24):
    lengths = torch.randint(3, max_len + 1, (n,), generator=gen)
    ids = torch.randint(1, VOCAB, (n, max_len), generator=gen)
    ids = ids * (torch.arange(max_len) < lengths[:, None])
    prev = F.pad(ids, (1, 0))[:, :-1]
    labels = 1 + (ids + 2 * prev) % (VOCAB - 1)
    return ids, labels.masked_fill(ids == PAD, -100)


def summed_loss(logits, labels):
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-100, reduction="sum")


def train(rank, args, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=WORLD)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    net = TaggingNet()
    model = DDP(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, total_iters=args.steps)
    gen = torch.Generator().manual_seed(1000 * args.seed + rank)

    for step in range(args.steps):
        ids, labels = make_batch(args.batch_size, gen)
        num_tokens = (labels != -100).sum().float()
        dist.all_reduce(num_tokens)
        token_sum = summed_loss(model(ids), labels)
        loss = token_sum * dist.get_world_size() / num_tokens
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        if step % 10 == 0:
            logged = token_sum.detach() / num_tokens
            dist.all_reduce(logged)
            if rank == 0:
                print(f"step {step} loss {logged.item():.4f}", flush=True)

    if rank == 0:
        with torch.no_grad():
            ids, labels = make_batch(512, torch.Generator().manual_seed(7))
            logits = net(ids)
            keep = labels != -100
            nll = summed_loss(logits, labels).item() / keep.sum().item()
            acc = (logits.argmax(-1) == labels)[keep].float().mean().item()
        print(f"EVIDENCE valid_nll={nll:.4f} valid_acc={acc:.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--lr", type=float, default=0.2)
    p.add_argument("--steps", type=int, default=60)
    p.add_argument("--batch-size", type=int, default=32)
    args = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(train, args=(args, os.path.join(folder, "store")), nprocs=WORLD)


if __name__ == "__main__":
    main()
