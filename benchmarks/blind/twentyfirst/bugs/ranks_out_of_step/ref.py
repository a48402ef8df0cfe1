"""A hand-made data parallel wrapper: gradients are gathered in a flat buffer over micro-batches and averaged once per update."""
import argparse
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F

SAMPLES = 129


def orchard():
    g = torch.Generator().manual_seed(23)
    x = torch.randn(SAMPLES, 12, generator=g)
    kind = (x[:, :4] + 0.5 * x[:, 4:8] * x[:, 8:12]).argmax(1)
    return x, kind


class CyclicSampler:
    """Rows of a shuffled order in turns: what does not fill a whole global batch is left out of the pass."""

    def __init__(self, total, micro, accumulate, rank, world, seed):
        self.total, self.micro, self.rank, self.world, self.seed = total, micro, rank, world, seed
        self.global_batch = micro * accumulate * world

    def epoch(self, number):
        order = torch.randperm(self.total, generator=torch.Generator().manual_seed(self.seed + number))
        active = self.total - self.total % self.global_batch
        mine = order[:active][self.rank::self.world]
        for i in range(0, len(mine) - self.micro + 1, self.micro):
            yield number, mine[i:i + self.micro]

    def __iter__(self):
        number = 0
        while True:
            yield from self.epoch(number)
            number += 1


class BufferedParallel(nn.Module):
    def __init__(self, module):
        super().__init__()
        self.module = module
        self.sizes = [p.numel() for p in module.parameters()]
        self.buffer = torch.zeros(sum(self.sizes))
        self.is_last = True
        for p in module.parameters():
            dist.broadcast(p.data, src=0)

    def forward(self, x):
        return self.module(x)

    def collect(self, is_last):
        """To be called after each backward."""
        grads = torch.cat([p.grad.flatten() for p in self.module.parameters()])
        self.buffer += grads
        for p in self.module.parameters():
            p.grad = None
        if is_last:
            dist.all_reduce(self.buffer)
            self.buffer /= dist.get_world_size()
            for p, part in zip(self.module.parameters(), self.buffer.split(self.sizes)):
                p.grad = part.view_as(p).clone()
            self.buffer.zero_()


def worker(rank, world, args):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=world)
    torch.manual_seed(args.seed)
    x, kind = orchard()
    model = BufferedParallel(nn.Sequential(nn.Linear(12, 40), nn.ReLU(), nn.Linear(40, 4)))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    batches = iter(CyclicSampler(SAMPLES, 5, args.accumulate, rank, world, args.seed))
    twice, norm_sum = 0, 0.0
    for step in range(args.steps):
        rows, numbers = [], []
        for micro in range(args.accumulate):
            number, idx = next(batches)
            numbers.append(float(number))
            loss = F.cross_entropy(model(x[idx]), kind[idx]) / args.accumulate
            loss.backward()
            model.collect(is_last=micro == args.accumulate - 1)
            rows.append(idx)
        norm_sum += sum(p.grad.pow(2).sum() for p in model.parameters()).sqrt().item() / args.steps
        optimizer.step()
        optimizer.zero_grad()
        mine = torch.tensor(numbers)
        others = [torch.empty_like(mine) for _ in range(world)]
        dist.all_gather(others, mine)
        twice += int(not torch.equal(others[0], others[1]))
        if rank == 0 and step % 40 == 0:
            print(f"step {step} loss {loss.item() * args.accumulate:.4f}", flush=True)
    with torch.no_grad():
        whole = F.cross_entropy(model(x), kind).item()
    if rank == 0:
        print(f"EVIDENCE updates_over_two_passes={twice} mean_norm={norm_sum:.4f} loss={whole:.4f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=0.05)
    ap.add_argument("--steps", type=int, default=160)
    ap.add_argument("--accumulate", type=int, default=3)
    args = ap.parse_args()
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(s.getsockname()[1]))
    mp.spawn(worker, args=(2, args), nprocs=2)
