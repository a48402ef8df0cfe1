"""Two pipeline stages on two ranks: activations and gradients by send and recv, the tied matrix on both."""

import selectors
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F

from options import options

CONTEXT, BATCH, VOCAB = 16, 16, 128


class Stage0(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.tied = nn.Embedding(VOCAB, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)

    def forward(self, ids):
        return self.rnn(self.tied(ids))[0]


class Stage1(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, dim))
        self.tied = nn.Linear(dim, VOCAB, bias=False)

    def forward(self, h):
        return self.tied(self.mlp(h))


def first_stage_step(model, ids):
    h = model(ids)
    dist.send(h.detach().contiguous(), dst=1)
    grad = torch.empty(h.shape)
    dist.recv(grad, src=1)
    h.backward(grad)


def last_stage_step(model, targets, dim):
    h = torch.empty(BATCH, CONTEXT, dim)
    dist.recv(h, src=0)
    h.requires_grad_(True)
    loss = F.cross_entropy(model(h).flatten(0, 1), targets.flatten())
    loss.backward()
    dist.send(h.grad.contiguous(), dst=0)
    return loss.item()


def main(rank, store, args):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    model = Stage0(args.width) if rank == 0 else Stage1(args.width)
    dist.broadcast(model.tied.weight.data, src=0)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    with open(selectors.__file__) as f:
        data = torch.tensor([min(ord(c), VOCAB - 1) for c in f.read()])
    generator = torch.Generator().manual_seed(args.seed)
    model.train()
    for step in range(args.steps):
        at = torch.randint(len(data) - CONTEXT - 1, (BATCH,), generator=generator)
        batch = torch.stack([data[i : i + CONTEXT + 1] for i in at])
        optimizer.zero_grad()
        if rank == 0:
            first_stage_step(model, batch[:, :-1])
        else:
            loss = last_stage_step(model, batch[:, 1:], args.width)
        dist.all_reduce(model.tied.weight.grad)
        optimizer.step()
        if rank == 1 and step % 12 == 11:
            print(f"step {step + 1}: loss {loss:.3f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as tmp:
        mp.spawn(main, args=(tmp + "/store", options(lr=5e-3, width=32, steps=36)), nprocs=2)

# SPDX-License-Identifier: Apache-2.0
