"""A sequence is split over two ranks; positions are those of the whole sequence."""

import argparse
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.word, self.position, self.out = nn.Embedding(20, 24), nn.Embedding(16, 24), nn.Linear(24, 20)

    def forward(self, ids, positions):
        return self.out(torch.tanh(self.word(ids) + self.position(positions)))


def main(rank, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    model = Model()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for step in range(args.steps):
        ids = torch.randint(0, 20, (16, 16))
        targets = (ids + torch.arange(16)) % 20
        local, goal = ids.chunk(2, 1)[rank], targets.chunk(2, 1)[rank]
        positions = torch.arange(local.shape[1])
        loss = nn.functional.cross_entropy(model(local, positions).flatten(0, 1), goal.flatten())
        optimizer.zero_grad()
        loss.backward()
        for p in model.parameters():
            dist.all_reduce(p.grad)
            p.grad /= 2
        optimizer.step()
    used = model.position.weight.grad.abs().sum(1).gt(0).sum()
    if rank == 0:
        print(f"EVIDENCE {used} of 16 positions are trained, loss {loss:.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(main, args=(folder + "/store",), nprocs=2)

# SPDX-License-Identifier: Apache-2.0
