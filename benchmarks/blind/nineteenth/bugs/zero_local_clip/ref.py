"""ZeRO stage 1/2 by hand: flat parameters, every rank owns one half with its optimizer state (gloo, 2 ranks)."""
import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F


class SequenceModel(nn.Module):
    def __init__(self, vocab=16, dim=48):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.ReLU(), nn.Linear(4 * dim, dim))
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        h, _ = self.rnn(self.embed(ids))
        return self.head(h + self.mlp(h))


class ShardedOptimizer:
    """Parameters live in one flat buffer; this rank steps its own slice and gathers the rest."""

    def __init__(self, model, lr, max_norm, rank, world):
        self.params = list(model.parameters())
        self.rank, self.world, self.max_norm = rank, world, max_norm
        self.numel = sum(p.numel() for p in self.params)
        self.shard = (self.numel + world - 1) // world
        self.flat = torch.zeros(self.shard * world)
        offset = 0
        for p in self.params:
            view = self.flat[offset:offset + p.numel()].view_as(p)
            view.copy_(p.data)
            p.data = view
            offset += p.numel()
        dist.broadcast(self.flat, src=0)
        own = self.flat[rank * self.shard:(rank + 1) * self.shard]
        self.master = nn.Parameter(own.clone())
        self.inner = torch.optim.SGD([self.master], lr=lr, momentum=0.9)

    def reduce_gradients(self):
        grads = torch.zeros_like(self.flat)
        torch.cat([p.grad.flatten() for p in self.params], out=grads[:self.numel])
        dist.all_reduce(grads)
        grads /= self.world
        return grads[self.rank * self.shard:(self.rank + 1) * self.shard].clone()

    def clip_(self, grad):
        sq_norm = grad.pow(2).sum()
        dist.all_reduce(sq_norm)
        norm = sq_norm.sqrt()
        grad.mul_((self.max_norm / (norm + 1e-6)).clamp(max=1.0))
        return norm

    def step(self):
        grad = self.reduce_gradients()
        norm = self.clip_(grad)
        self.master.grad = grad
        self.inner.step()
        pieces = [torch.empty(self.shard) for _ in range(self.world)]
        dist.all_gather(pieces, self.master.detach())
        self.flat.copy_(torch.cat(pieces))
        for p in self.params:
            p.grad = None
        return norm


def make_batch(size, g, length=20, vocab=16):
    """Second order rule: next = a * x[t] + x[t-1] (mod vocab), with a few corrupted symbols."""
    x = torch.randint(0, vocab, (size, length), generator=g)
    for t in range(2, length):
        x[:, t] = (3 * x[:, t - 1] + x[:, t - 2]) % vocab
    noise = torch.rand(x.shape, generator=g) < 0.02
    x[noise] = torch.randint(0, vocab, (int(noise.sum()),), generator=g)
    return x


def lm_loss(model, x):
    logits = model(x[:, :-1])
    return F.cross_entropy(logits[:, 1:].flatten(0, 1), x[:, 2:].flatten())


@torch.no_grad()
def validate(model):
    g = torch.Generator().manual_seed(99)
    return lm_loss(model, make_batch(512, g)).item()


def run(rank, world, args, init_file):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{init_file}", rank=rank, world_size=world)
    torch.manual_seed(args.seed)
    model = SequenceModel()
    opt = ShardedOptimizer(model, args.lr, args.clip, rank, world)
    g = torch.Generator().manual_seed(args.seed * 100 + rank + 1)
    for step in range(1, args.steps + 1):
        loss = lm_loss(model, make_batch(args.batch, g))
        loss.backward()
        norm = opt.step()
        if step % 20 == 0:
            mean = loss.detach().clone()
            dist.all_reduce(mean)
            if rank == 0:
                print(f"step {step} loss {mean.item() / world:.4f} grad_norm {norm.item():.3f}", flush=True)
    if rank == 0:
        print(f"EVIDENCE val_loss={validate(model):.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--lr", type=float, default=0.5)
    p.add_argument("--steps", type=int, default=120)
    p.add_argument("--batch", type=int, default=32)
    p.add_argument("--clip", type=float, default=0.25)
    args = p.parse_args()
    with tempfile.TemporaryDirectory() as tmp:
        mp.spawn(run, args=(2, args, os.path.join(tmp, "store")), nprocs=2)


if __name__ == "__main__":
    main()
