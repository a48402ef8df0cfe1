"""DiLoCo: each rank trains alone for H steps (weights differ on purpose), then an outer Nesterov step on the mean difference."""
import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F

VOCAB, LENGTH = 12, 18


class NextToken(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, VOCAB)

    def forward(self, ids):
        return self.head(self.rnn(self.embed(ids))[0])


def make_batch(n, g):
    x = torch.randint(0, VOCAB, (n, LENGTH), generator=g)
    for t in range(2, LENGTH):
        x[:, t] = (x[:, t - 1] + 2 * x[:, t - 2] + 1) % VOCAB
    return x


def loss_fn(model, x):
    return F.cross_entropy(model(x[:, :-1])[:, 1:].flatten(0, 1), x[:, 2:].flatten())


class OuterOptimizer:
    """Holds the shared weights; the 'gradient' is shared minus local, averaged over ranks."""

    def __init__(self, model, world, lr=0.7, momentum=0.8):
        self.model, self.world = model, world
        self.shared = [p.detach().clone().requires_grad_() for p in model.parameters()]
        self.opt = torch.optim.SGD(self.shared, lr=lr, momentum=momentum, nesterov=True)

    @torch.no_grad()
    def step(self):
        for s, p in zip(self.shared, self.model.parameters()):
            delta = s - p
            dist.all_reduce(delta)
            s.grad = delta / self.world
        self.opt.step()
        for s, p in zip(self.shared, self.model.parameters()):
            p.copy_(s)


def worker(rank, world, args, init_file):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{init_file}", rank=rank, world_size=world)
    torch.manual_seed(args.seed)
    model = NextToken()
    inner = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)     # its state stays local
    outer = OuterOptimizer(model, world)
    g = torch.Generator().manual_seed(args.seed * 50 + rank + 1)
    for step in range(1, args.steps + 1):
        loss = loss_fn(model, make_batch(args.batch, g))
        inner.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        inner.step()
        if step % args.inner_steps == 0 or step == args.steps:
            outer.step()
        if step % 20 == 0 and rank == 0:
            print(f"step {step} loss {loss.item():.4f}", flush=True)
    if rank == 0:
        with torch.no_grad():
            val = loss_fn(model, make_batch(512, torch.Generator().manual_seed(9))).item()
        print(f"EVIDENCE val_loss={val:.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--lr", type=float, default=5e-3)
    p.add_argument("--steps", type=int, default=120)
    p.add_argument("--batch", type=int, default=32)
    p.add_argument("--inner-steps", type=int, default=10)
    args = p.parse_args()
    with tempfile.TemporaryDirectory() as tmp:
        mp.spawn(worker, args=(2, args, os.path.join(tmp, "init")), nprocs=2)


if __name__ == "__main__":
    main()
