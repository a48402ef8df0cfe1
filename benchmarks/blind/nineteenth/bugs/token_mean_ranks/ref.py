"""Two-rank supervised fine-tuning of a small causal model; only the answer tokens carry loss."""
import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

PAD, FIRST, SHIFT = 10, 11, 12
VOCAB = 13
IGNORE = -100


def make_example(g):
    """Either 'repeat the first digit' (one answer token) or 'add 3 to every digit' (many)."""
    if torch.rand(1, generator=g).item() < 0.6:
        digits = torch.randint(0, 10, (4,), generator=g)
        prompt, answer = torch.cat([torch.tensor([FIRST]), digits]), digits[:1]
    else:
        digits = torch.randint(0, 10, (int(torch.randint(9, 13, (1,), generator=g)),), generator=g)
        prompt, answer = torch.cat([torch.tensor([SHIFT]), digits]), (digits + 3) % 10
    ids = torch.cat([prompt, answer])
    labels = torch.cat([torch.full_like(prompt, IGNORE), answer])
    return ids, labels


def collate(examples):
    width = max(len(ids) for ids, _ in examples)
    ids = torch.full((len(examples), width), PAD)
    labels = torch.full((len(examples), width), IGNORE)
    for row, (x, y) in enumerate(examples):
        ids[row, : len(x)] = x
        labels[row, : len(y)] = y
    return ids, labels


class SortedBatches:
    """Global batches sorted by length and cut in two, so that each rank pads little."""

    def __init__(self, examples, global_batch, rank, world, seed):
        self.examples, self.rank, self.world = examples, rank, world
        self.global_batch = global_batch
        self.g = torch.Generator().manual_seed(seed)

    def __iter__(self):
        while True:
            order = torch.randperm(len(self.examples), generator=self.g)
            for chunk in order.split(self.global_batch):
                if len(chunk) < self.global_batch:
                    continue
                batch = sorted((self.examples[i] for i in chunk), key=lambda e: len(e[0]))
                per_rank = self.global_batch // self.world
                yield collate(batch[self.rank * per_rank:(self.rank + 1) * per_rank])


class Decoder(nn.Module):
    def __init__(self, dim=64, heads=4, layers=2, max_len=32):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, dim)
        self.pos = nn.Embedding(max_len, dim)
        layer = nn.TransformerEncoderLayer(dim, heads, 2 * dim, dropout=0.0, batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(dim, VOCAB)

    def forward(self, ids):
        n = ids.shape[1]
        mask = nn.Transformer.generate_square_subsequent_mask(n)
        h = self.tok(ids) + self.pos(torch.arange(n))
        return self.head(self.blocks(h, mask=mask, is_causal=True))


def token_losses(model, ids, labels):
    logits = model(ids[:, :-1])
    target = labels[:, 1:]
    losses = F.cross_entropy(logits.transpose(1, 2), target, ignore_index=IGNORE, reduction="none")
    return losses, target != IGNORE


@torch.no_grad()
def evaluate(model, examples):
    model.eval()
    hits = total = 0
    for i in range(0, len(examples), 64):
        ids, labels = collate(examples[i:i + 64])
        pred = model(ids[:, :-1]).argmax(-1)
        keep = labels[:, 1:] != IGNORE
        hits += (pred == labels[:, 1:])[keep].sum().item()
        total += keep.sum().item()
    model.train()
    return hits / total


def worker(rank, world, args, init_file):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{init_file}", rank=rank, world_size=world)
    torch.manual_seed(args.seed)
    g = torch.Generator().manual_seed(1000 + args.seed)
    train = [make_example(g) for _ in range(2000)]
    valid = [make_example(g) for _ in range(256)]
    batches = iter(SortedBatches(train, args.batch, rank, world, args.seed))

    model = DDP(Decoder())
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    for step in range(1, args.steps + 1):
        ids, labels = next(batches)
        losses, keep = token_losses(model, ids, labels)
        n_tokens = keep.sum().float()
        dist.all_reduce(n_tokens)
        loss = losses.sum() * world / n_tokens
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        if step % 20 == 0:
            shown = loss.detach().clone()
            dist.all_reduce(shown)
            if rank == 0:
                print(f"step {step} loss {shown.item() / world:.4f}", flush=True)
    if rank == 0:
        print(f"EVIDENCE answer_token_accuracy={evaluate(model.module, valid):.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--steps", type=int, default=120)
    p.add_argument("--batch", type=int, default=32)
    args = p.parse_args()
    with tempfile.TemporaryDirectory() as tmp:
        mp.spawn(worker, args=(2, args, os.path.join(tmp, "init")), nprocs=2)


if __name__ == "__main__":
    main()
