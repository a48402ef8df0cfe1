"""Two ranks hold a half of a network each; four micro-batches go forth, then their gradients come back in the same order."""

import argparse
import tempfile
from collections import deque

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=5e-3)
parser.add_argument("--steps", type=int, default=50)
args = parser.parse_args()
PARTS, SIZE, WIDTH = 4, 12, 32


def first_stage(model, batches):
    stash = deque()
    for x in batches:
        hidden = model(x)
        dist.send(hidden.detach(), 1)
        stash.append(hidden)
    for _ in range(PARTS):
        gradient = torch.empty(SIZE, WIDTH)
        dist.recv(gradient, 1)
        hidden = stash.pop()
        hidden.backward(gradient)


def last_stage(model, labels):
    stash, total = deque(), 0.0
    for y in labels:
        received = torch.empty(SIZE, WIDTH)
        dist.recv(received, 0)
        received.requires_grad_()
        loss = nn.functional.cross_entropy(model(received), y) / PARTS
        stash.append((received, loss))
        total += loss.item()
    for _ in range(PARTS):
        received, loss = stash.popleft()
        loss.backward()
        dist.send(received.grad, 0)
    return total


def main(rank, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    centres = torch.randn(6, 10)
    if rank == 0:
        model = nn.Sequential(nn.Linear(10, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH), nn.Tanh())
    else:
        model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 6))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    data = torch.Generator().manual_seed(args.seed + 1)
    agree = 0.0
    for step in range(args.steps):
        y = torch.randint(6, (PARTS * SIZE,), generator=data)
        x = centres[y] + 0.8 * torch.randn(PARTS * SIZE, 10, generator=data)
        optimizer.zero_grad()
        if rank == 0:
            first_stage(model, x.chunk(PARTS))
        else:
            total = last_stage(model, y.chunk(PARTS))
        if step == args.steps - 1:
            whole = gradient_of_the_whole(model, rank, x, y)
            mine = torch.cat([p.grad.flatten() for p in model.parameters()])
            agree = nn.functional.cosine_similarity(mine, whole, dim=0).item()
        optimizer.step()
        if rank == 1 and step % 10 == 9:
            print(f"step {step}: loss {total:.3f}", flush=True)
    dist.barrier()
    if rank == 0:
        print(f"EVIDENCE the first stage's gradient agrees with that of the whole batch to {agree:.3f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


def gradient_of_the_whole(model, rank, x, y):
    """What one backward over all samples would give for this stage."""
    if rank == 0:
        hidden = model(x)
        dist.send(hidden.detach(), 1)
        gradient = torch.empty_like(hidden)
        dist.recv(gradient, 1)
        return torch.cat([g.flatten() for g in torch.autograd.grad(hidden, list(model.parameters()), gradient)])
    hidden = torch.empty(len(x), WIDTH)
    dist.recv(hidden, 0)
    hidden.requires_grad_()
    gradients = torch.autograd.grad(nn.functional.cross_entropy(model(hidden), y), [hidden, *model.parameters()])
    dist.send(gradients[0], 0)
    return torch.cat([g.flatten() for g in gradients[1:]])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.start_processes(main, args=(folder + "/store",), nprocs=2, start_method="fork")

# SPDX-License-Identifier: Apache-2.0
