"""DiLoCo on two gloo ranks: AdamW for ten local steps, then one outer step with Nesterov momentum on the mean drift."""
import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F

INPUTS, CLASSES, LOCAL_STEPS = 20, 6, 10


def shard(rank, seed):
    """Each rank has more of one half of the classes."""
    fixed = torch.Generator().manual_seed(11)
    centres = 1.1 * torch.randn(CLASSES, INPUTS, generator=fixed)
    gen = torch.Generator().manual_seed(40 + rank + 10 * seed)
    weights = torch.ones(CLASSES)
    weights[rank * 3:rank * 3 + 3] = 4.0
    labels = torch.multinomial(weights, 600, replacement=True, generator=gen)
    return centres[labels] + torch.randn(600, INPUTS, generator=gen), labels


def held_out():
    fixed = torch.Generator().manual_seed(11)
    centres = 1.1 * torch.randn(CLASSES, INPUTS, generator=fixed)
    labels = torch.arange(CLASSES).repeat(80)
    return centres[labels] + torch.randn(len(labels), INPUTS, generator=torch.Generator().manual_seed(2)), labels


class OuterStep:
    """Holds the shared parameters. Their gradient is the way from the mean of the ranks back to the shared ones."""

    def __init__(self, model, lr, momentum):
        self.model = model
        self.shared = [p.detach().clone() for p in model.parameters()]
        self.optimizer = torch.optim.SGD(self.shared, lr=lr, momentum=momentum, nesterov=True)
        self.drift = []

    @torch.no_grad()
    def step(self):
        size = 0.0
        for shared, local in zip(self.shared, self.model.parameters()):
            pseudo_gradient = shared - local
            dist.all_reduce(pseudo_gradient)
            shared.grad = pseudo_gradient / dist.get_world_size()
            size += shared.grad.pow(2).sum().item()
        self.drift.append(size ** 0.5)
        self.optimizer.step()
        for shared, local in zip(self.shared, self.model.parameters()):
            local.copy_(shared)


def build():
    return nn.Sequential(nn.Linear(INPUTS, 48), nn.GELU(), nn.Linear(48, 48), nn.GELU(), nn.Linear(48, CLASSES))


def worker(rank, world, args, store):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world)
    torch.manual_seed(args.seed)
    model = build()
    x, y = shard(rank, args.seed)
    inner = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.95), weight_decay=0.1)
    outer = OuterStep(model, lr=0.7, momentum=0.5)
    gen = torch.Generator().manual_seed(7 * args.seed + rank)
    test_x, test_y = held_out()
    for step in range(args.steps):
        rows = torch.randint(0, len(x), (32,), generator=gen)
        loss = F.cross_entropy(model(x[rows]), y[rows])
        inner.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        inner.step()
        if (step + 1) % LOCAL_STEPS == 0:
            outer.step()
            if rank == 0 and (step + 1) % 50 == 0:
                with torch.no_grad():
                    print(f"step {step + 1} local {loss.item():.4f} shared {F.cross_entropy(model(test_x), test_y).item():.4f}")
    if rank == 0:
        with torch.no_grad():
            logits = model(test_x)
        accuracy = (logits.argmax(1) == test_y).float().mean().item()
        print(f"EVIDENCE drift={outer.drift[-1]:.4f} held_out={F.cross_entropy(logits, test_y).item():.4f} "
              f"accuracy={accuracy:.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=160)
    args = ap.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(worker, args=(2, args, os.path.join(folder, "store")), nprocs=2)


if __name__ == "__main__":
    main()
