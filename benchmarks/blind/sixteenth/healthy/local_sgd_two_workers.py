"""Local SGD (post-local SGD / DiLoCo style) on two gloo workers, without DistributedDataParallel.

Every worker takes H optimizer steps on its own shard and its own replica; then the
replicas are averaged and an outer Nesterov step is made from the last common weights.
Rank 0 evaluates and decides (decay, stop); the decision is broadcast.
"""
import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

WORLD = 2
INNER = 10


def parse_args():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--steps", type=int, default=110)
    return ap.parse_args()


def split_data(seed):
    from sklearn.datasets import load_digits  # only the parent needs it

    bunch = load_digits()
    x = torch.tensor(bunch.data, dtype=torch.float32) / 16
    y = torch.tensor(bunch.target)
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(seed))
    val, train = order[:400], order[400:]
    return (x[train], y[train]), (x[val], y[val])


def build():
    return nn.Sequential(nn.Linear(64, 96), nn.GELU(), nn.Dropout(0.1), nn.Linear(96, 96), nn.GELU(), nn.Linear(96, 10))


class OuterLoop:
    """Keeps the last common weights; an outer SGD acts on (common - averaged replica)."""

    def __init__(self, model, lr=0.7, momentum=0.6):
        self.model = model
        self.common = [p.detach().clone().requires_grad_() for p in model.parameters()]
        self.opt = torch.optim.SGD(self.common, lr=lr, momentum=momentum, nesterov=True)

    def synchronise(self):
        for anchor, p in zip(self.common, self.model.parameters()):
            delta = anchor.detach() - p.detach()
            dist.all_reduce(delta)
            anchor.grad = delta / WORLD
        self.opt.step()
        with torch.no_grad():
            for anchor, p in zip(self.common, self.model.parameters()):
                p.copy_(anchor)


@torch.no_grad()
def evaluate(model, x, y):
    model.eval()
    logits = model(x)
    model.train()
    return nn.functional.cross_entropy(logits, y).item(), (logits.argmax(1) == y).float().mean().item()


def worker(rank, args, data, rendezvous):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{rendezvous}", rank=rank, world_size=WORLD)
    (x, y), (xv, yv) = data
    shard_x, shard_y = x[rank::WORLD], y[rank::WORLD]
    torch.manual_seed(args.seed + rank)  # own dropout, own batches; the weights are broadcast below
    model = build()
    for p in model.parameters():
        dist.broadcast(p.detach(), src=0)
    outer = OuterLoop(model)
    inner = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-2)

    best, bad_rounds, drift, rounds = float("inf"), 0, 0.0, max(1, args.steps // INNER)
    for r in range(rounds):
        for _ in range(INNER):
            idx = torch.randint(len(shard_x), (48,))
            loss = nn.functional.cross_entropy(model(shard_x[idx]), shard_y[idx])
            inner.zero_grad()
            loss.backward()
            inner.step()
        first = next(model.parameters()).detach().clone()
        other = first.clone()
        dist.all_reduce(other)
        drift = (other / WORLD - first).abs().max().item()
        outer.synchronise()

        decision = torch.zeros(2)  # [halve the inner lr, stop]
        if rank == 0:
            val, acc = evaluate(model, xv, yv)
            if val < best - 1e-4:
                best, bad_rounds = val, 0
            else:
                bad_rounds += 1
            decision = torch.tensor([float(bad_rounds == 2), float(bad_rounds >= 4)])
            print(f"round {r:3d} loss {loss.item():.4f} val {val:.4f} acc {acc:.3f} drift {drift:.4f}", flush=True)
        dist.broadcast(decision, src=0)
        if decision[0] > 0:
            for group in inner.param_groups:
                group["lr"] *= 0.5
        if decision[1] > 0:
            break

    flat = torch.cat([p.detach().reshape(-1) for p in model.parameters()])
    copies = [torch.empty_like(flat) for _ in range(WORLD)]
    dist.all_gather(copies, flat)
    if rank == 0:
        val, acc = evaluate(model, xv, yv)
        print(f"EVIDENCE val_loss={val:.4f} val_acc={acc:.4f} spread_after_sync={(copies[0] - copies[1]).abs().max().item():.6f} "
              f"drift_before_sync={drift:.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


def main():
    args = parse_args()
    with tempfile.TemporaryDirectory() as tmp:
        mp.spawn(worker, args=(args, split_data(args.seed), os.path.join(tmp, "rdv")), nprocs=WORLD)


if __name__ == "__main__":
    main()
