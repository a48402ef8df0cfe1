"""A reranker on two gloo ranks. After each epoch the queries are ranked, and the epoch with the best MRR is kept."""
import argparse
import copy
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

DIM, CANDIDATES = 12, 10


class Reranker(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.score = nn.Sequential(nn.Linear(3 * DIM, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, query, docs):
        query = query[:, None].expand_as(docs)
        return self.score(torch.cat([query, docs, query * docs], -1)).squeeze(-1)


def queries(n, gen, noise):
    """The first document is the relevant one, and resembles its query; how well depends on the domain."""
    q = torch.randn(n, DIM, generator=gen)
    docs = torch.randn(n, CANDIDATES, DIM, generator=gen)
    docs[:, 0] = 0.7 * q + noise * docs[:, 0]
    return q, docs


def validation(seed):
    """Two domains one after the other: the web, and manuals that are harder."""
    gen = torch.Generator().manual_seed(seed + 900)
    parts = [queries(120, gen, 0.5), queries(120, gen, 1.6)]
    return torch.cat([p[0] for p in parts]), torch.cat([p[1] for p in parts])


@torch.no_grad()
def reciprocal_ranks(model, q, docs):
    scores = model(q, docs)
    return 1.0 / (1 + (scores[:, 1:] >= scores[:, :1]).sum(1)).float()


def evaluate(model, data, rank, world):
    size = len(data[0]) // world
    own = slice(rank * size, (rank + 1) * size)
    found = reciprocal_ranks(model, data[0][own], data[1][own])
    total = torch.tensor([found.sum().item(), float(len(found))])
    dist.all_reduce(total)
    return (total[0] / total[1]).item()


def main(rank, world, args, store):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world)
    torch.manual_seed(args.seed)
    model = DDP(Reranker())
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    gen = torch.Generator().manual_seed(args.seed * 31 + rank)
    held_out = validation(args.seed)
    best_mrr, best_state = -1.0, None
    for step in range(args.steps):
        parts = [queries(12, gen, 0.5), queries(12, gen, 1.6)]
        q, docs = torch.cat([p[0] for p in parts]), torch.cat([p[1] for p in parts])
        loss = nn.functional.cross_entropy(model(q, docs), torch.zeros(len(q), dtype=torch.long))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if (step + 1) % 10 == 0:
            model.eval()
            mrr = evaluate(model.module, held_out, rank, world)
            model.train()
            if mrr > best_mrr:
                best_mrr, best_state = mrr, copy.deepcopy(model.module.state_dict())
            if rank == 0:
                print(f"step {step + 1} loss {loss.item():.4f} mrr {mrr:.4f}", flush=True)
    model.module.load_state_dict(best_state)
    whole = reciprocal_ranks(model.module.eval(), *held_out).mean().item()
    ends = torch.tensor([best_mrr, -best_mrr])
    dist.all_reduce(ends, op=dist.ReduceOp.MAX)
    if rank == 0:
        print(f"EVIDENCE reported={best_mrr:.4f} whole_set={whole:.4f} spread_of_ranks={(ends[0] + ends[1]).item():.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=120)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(main, args=(2, args, os.path.join(folder, "store")), nprocs=2)
