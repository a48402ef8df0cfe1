"""Answer-only fine-tuning of a tiny GRU language model on sums: the two ranks hold answers of very different length."""
import argparse
import os
import random
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

VOCAB = "0123456789+=.# "
PAD, IGNORE = VOCAB.index(" "), -100


def encode(text):
    return [VOCAB.index(c) for c in text]


def sample_dialog(rng, long_answer):
    a, b = rng.randint(0, 9), rng.randint(0, 9)
    prompt = f"{a}+{b}="
    answer = f"{a + b}." if not long_answer else "".join(f"{a + b + k}#" for k in range(4)) + "."
    return prompt, answer


def collate(rng, size, long_answer):
    rows = [sample_dialog(rng, long_answer) for _ in range(size)]
    width = max(len(p) + len(a) for p, a in rows)
    ids = torch.full((size, width), PAD)
    labels = torch.full((size, width), IGNORE)
    for i, (prompt, answer) in enumerate(rows):
        tokens = encode(prompt + answer)
        ids[i, :len(tokens)] = torch.tensor(tokens)
        labels[i, len(prompt):len(tokens)] = torch.tensor(tokens[len(prompt):])
    return ids, labels


class CharLM(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.embed = nn.Embedding(len(VOCAB), dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.lm_head = nn.Linear(dim, len(VOCAB))

    def forward(self, ids):
        return self.lm_head(self.rnn(self.embed(ids))[0])


def summed_nll(logits, labels):
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten(), ignore_index=IGNORE, reduction="sum")


def train(rank, world, args, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=world)
    torch.manual_seed(args.seed)
    rng = random.Random(args.seed * 31 + rank)
    model = DDP(CharLM())
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    error = 0.0
    for step in range(1, args.steps + 1):
        ids, labels = collate(rng, args.batch, long_answer=rank == 1)
        num_items = (labels[:, 1:] != IGNORE).sum()
        total = num_items.clone()
        dist.all_reduce(total)
        loss = summed_nll(model(ids), labels) * world / total
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        if step == 1:
            params = list(model.module.parameters())
            exact = torch.cat([g.flatten() for g in torch.autograd.grad(summed_nll(model.module(ids), labels), params)])
            dist.all_reduce(exact)
            exact /= total
            got = torch.cat([p.grad.flatten() for p in params])
            error = ((got - exact).norm() / exact.norm()).item()
        optimizer.step()
        if rank == 0 and step % 20 == 0:
            print(f"step {step} nll/token {loss.item() / world:.4f}", flush=True)
    if rank == 0:
        print(f"EVIDENCE error_to_global_token_gradient={error:.5f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    cli = argparse.ArgumentParser()
    cli.add_argument("--seed", type=int, default=0)
    cli.add_argument("--lr", type=float, default=5e-3)
    cli.add_argument("--steps", type=int, default=80)
    cli.add_argument("--batch", type=int, default=16)
    args = cli.parse_args()
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    mp.spawn(train, args=(2, args, port), nprocs=2)
