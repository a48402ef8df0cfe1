"""Local training with an outer optimizer (DiLoCo): two workers go some steps alone, then share what they moved."""
import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

DIM, CLASSES = 16, 6


class Classifier(nn.Sequential):
    def __init__(self, width=64):
        super().__init__(nn.Linear(DIM, width), nn.GELU(), nn.Linear(width, width), nn.GELU(), nn.Linear(width, CLASSES))


class OuterStep:
    """Keeps the weights of the last meeting, and moves them by the average of what the workers did since."""

    def __init__(self, model, lr, momentum):
        self.model = model
        self.shared = [p.detach().clone() for p in model.parameters()]
        self.optimizer = torch.optim.SGD(self.shared, lr=lr, momentum=momentum, nesterov=True)

    @torch.no_grad()
    def sync(self, world):
        for shared, p in zip(self.shared, self.model.parameters()):
            shared.grad = shared - p
            dist.all_reduce(shared.grad)
            shared.grad.div_(world)
        self.optimizer.step()
        for shared, p in zip(self.shared, self.model.parameters()):
            p.copy_(shared)


def sample(gen, n):
    rule = torch.randn(DIM, CLASSES, generator=torch.Generator().manual_seed(77))
    x = torch.randn(n, DIM, generator=gen)
    return x, (x @ rule + 0.8 * (x ** 2 - 1) @ rule.roll(1, 1)).argmax(1)


def worker(rank, world, args, store):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world)
    torch.manual_seed(args.seed)          # common to all workers
    model = Classifier()
    inner = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    outer = OuterStep(model, lr=0.7, momentum=0.6)
    gen = torch.Generator().manual_seed(1000 * args.seed + rank)
    for step in range(args.steps):
        x, y = sample(gen, 64)
        loss = nn.functional.cross_entropy(model(x), y)
        inner.zero_grad()
        loss.backward()
        inner.step()
        if (step + 1) % args.inner_steps == 0:
            outer.sync(world)
            if rank == 0 and (step + 1) % (4 * args.inner_steps) == 0:
                print(f"step {step + 1} loss {loss.item():.4f}", flush=True)
    flat = nn.utils.parameters_to_vector(model.parameters()).detach()
    gap = flat.clone()
    dist.broadcast(gap, src=0)
    gap = (gap - flat).norm() / flat.norm()
    dist.all_reduce(gap)
    x, y = sample(torch.Generator().manual_seed(4321), 2000)
    with torch.no_grad():
        accuracy = (model(x).argmax(1) == y).float().mean().item()
    if rank == 0:
        print(f"EVIDENCE distance_of_workers={gap.item():.4f} accuracy={accuracy:.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=160)
    parser.add_argument("--inner-steps", type=int, default=8)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(worker, args=(2, args, os.path.join(folder, "store")), nprocs=2)
