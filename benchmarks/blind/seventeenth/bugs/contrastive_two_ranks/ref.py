"""Contrastive retrieval training with hard negatives on two gloo ranks (in-batch negatives of all ranks)."""
import argparse
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F

WORLD_SIZE = 2


class GatherWithGrad(torch.autograd.Function):
    """all_gather along dim 0, the gradient is summed over ranks."""

    @staticmethod
    def forward(ctx, x):
        ctx.rows = x.shape[0]
        chunks = [torch.empty_like(x) for _ in range(dist.get_world_size())]
        dist.all_gather(chunks, x.contiguous())
        return torch.cat(chunks)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.contiguous()
        dist.all_reduce(grad)
        start = dist.get_rank() * ctx.rows
        return grad[start:start + ctx.rows]


class World:
    """Documents lie around topics; a query is a noisy linear view of its document."""

    def __init__(self, seed, dim=32, topics=40, docs=1200):
        gen = torch.Generator().manual_seed(seed)
        centers = torch.randn(topics, dim, generator=gen)
        self.topic = torch.randint(0, topics, (docs,), generator=gen)
        self.docs = centers[self.topic] + 0.6 * torch.randn(docs, dim, generator=gen)
        self.view = torch.randn(dim, dim, generator=gen) / dim ** 0.5
        self.train_ids = torch.arange(docs - 300)
        self.test_ids = torch.arange(docs - 300, docs)

    def queries(self, ids, gen):
        x = torch.tanh(self.docs[ids] @ self.view)
        return x + 0.2 * torch.randn(x.shape, generator=gen)

    def triplets(self, batch, gen):
        ids = self.train_ids[torch.randperm(len(self.train_ids), generator=gen)[:batch]]
        same = (self.topic[ids][:, None] == self.topic[self.train_ids][None]).float()
        same[torch.arange(batch), ids] = 1e-6
        negatives = self.train_ids[torch.multinomial(same, 1, generator=gen).squeeze(1)]
        return self.queries(ids, gen), self.docs[ids], self.docs[negatives]


class TwoTower(nn.Module):
    def __init__(self, dim=32, hidden=128, out=48):
        super().__init__()
        self.query = nn.Sequential(nn.Linear(dim, hidden), nn.GELU(), nn.Linear(hidden, out))
        self.doc = nn.Sequential(nn.Linear(dim, hidden), nn.GELU(), nn.Linear(hidden, out))

    def forward(self, q, d):
        return F.normalize(self.query(q), dim=-1), F.normalize(self.doc(d), dim=-1)


class MultipleNegativesLoss(nn.Module):
    def __init__(self, scale=15.0):
        super().__init__()
        self.scale = scale

    def forward(self, anchors, candidates):
        """anchors: (B, D); candidates: (2B, D), first the positives, then the hard negatives."""
        batch = anchors.shape[0]
        docs = GatherWithGrad.apply(candidates)
        scores = anchors @ docs.T * self.scale
        offset = dist.get_rank() * candidates.shape[0]
        labels = torch.arange(offset, offset + batch)
        return F.cross_entropy(scores, labels)


@torch.no_grad()
def retrieval(model, world):
    gen = torch.Generator().manual_seed(99)
    q, d = model(world.queries(world.test_ids, gen), world.docs[world.test_ids])
    ranks = (q @ d.T).argsort(dim=1, descending=True)
    hit = ranks == torch.arange(len(q))[:, None]
    position = hit.float().argmax(dim=1) + 1
    return (position == 1).float().mean().item(), (1.0 / position).mean().item()


def worker(rank, args, port):
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = str(port)
    dist.init_process_group("gloo", rank=rank, world_size=WORLD_SIZE)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    world = World(args.seed)
    model = nn.parallel.DistributedDataParallel(TwoTower())
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    criterion = MultipleNegativesLoss()
    gen = torch.Generator().manual_seed(1000 * args.seed + rank)

    for step in range(args.steps):
        q, pos, neg = world.triplets(args.batch_size, gen)
        anchors, candidates = model(q, torch.cat([pos, neg]))
        loss = criterion(anchors, candidates)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0 or step == args.steps - 1:
            mean = loss.detach().clone()
            dist.all_reduce(mean)
            if rank == 0:
                print(f"step {step:4d} loss {mean.item() / WORLD_SIZE:.4f}", flush=True)

    if rank == 0:
        recall, mrr = retrieval(model.module, world)
        print(f"EVIDENCE recall_at_1={recall:.4f} mrr={mrr:.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--batch-size", type=int, default=48)
    args = parser.parse_args()
    mp.start_processes(worker, args=(args, free_port()), nprocs=WORLD_SIZE, start_method="fork")


if __name__ == "__main__":
    main()
