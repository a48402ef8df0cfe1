"""The vocabulary is split over two ranks: each has half of the head, the cross entropy is put together by hand."""
import argparse
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

WORDS, DIM, WORLD = 40, 32, 2


class CopyToRanks(torch.autograd.Function):
    """The same input for all ranks; their gradients are added up."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.contiguous().clone()
        dist.all_reduce(grad)
        return grad


class ParallelCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, logits, target, first):
        largest = logits.max(-1).values
        dist.all_reduce(largest, op=dist.ReduceOp.MAX)
        exp = (logits - largest[:, None]).exp()
        total = exp.sum(-1)
        dist.all_reduce(total)
        outside = (target < first) | (target >= first + logits.size(1))
        local = (target - first).masked_fill(outside, 0)
        chosen = (logits - largest[:, None]).gather(1, local[:, None])[:, 0].masked_fill(outside, 0.0)
        dist.all_reduce(chosen)
        ctx.save_for_backward(exp / total[:, None], local, outside)
        return total.log() - chosen

    @staticmethod
    def backward(ctx, grad):
        grad_logits, local, outside = ctx.saved_tensors
        grad_logits = grad_logits.clone()
        grad_logits[torch.arange(len(local)), local] -= (~outside).float()
        return grad_logits * grad[:, None], None, None


class Model(nn.Module):
    def __init__(self, rank):
        super().__init__()
        self.first = rank * WORDS // WORLD
        self.embedding, self.rnn = nn.Embedding(WORDS, DIM), nn.GRU(DIM, DIM, batch_first=True)
        whole = nn.Linear(DIM, WORDS, bias=False)  # drawn alike on both ranks, each keeps its rows
        self.head = nn.Parameter(whole.weight.detach().chunk(WORLD)[rank].clone())

    def logits(self, ids):
        return CopyToRanks.apply(self.rnn(self.embedding(ids))[0]).flatten(0, 1) @ self.head.t()

    def forward(self, ids, labels):
        return ParallelCrossEntropy.apply(self.logits(ids), labels.flatten(), self.first).mean()

    @torch.no_grad()
    def accuracy(self, ids, labels):
        own = self.logits(ids)
        parts = [torch.empty_like(own) for _ in range(WORLD)]
        dist.all_gather(parts, own)
        return (torch.cat(parts, 1).argmax(1) == labels.flatten()).float().mean().item()


def sentences(count, generator):
    """Each word follows from the last one, with a mistake here and there; low numbers are frequent."""
    start = (WORDS * torch.rand(count, generator=generator) ** 2).long()
    ids = [start]
    for _ in range(10):
        new = (3 * ids[-1] + 5) % WORDS
        wrong = torch.rand(count, generator=generator) < 0.1
        ids.append(torch.where(wrong, (WORDS * torch.rand(count, generator=generator)).long(), new))
    ids = torch.stack(ids, 1)
    return ids[:, :-1], ids[:, 1:]


def main(rank, folder, args):
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=WORLD)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed)  # both ranks see the same batches
    model = Model(rank)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for step in range(1, args.steps + 1):
        loss = model(*sentences(32, generator))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 40 == 0 and rank == 0:
            print(f"step {step}: loss {loss.item():.4f}", flush=True)
    ids, labels = sentences(200, torch.Generator().manual_seed(77))
    with torch.no_grad():
        loss = model(ids, labels).item()
    right = model.accuracy(ids, labels)
    if rank == 0:
        print(f"EVIDENCE validation loss {loss:.4f}, accuracy {right:.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=5e-3)
    parser.add_argument("--steps", type=int, default=200)
    with tempfile.TemporaryDirectory() as directory:
        mp.start_processes(main, args=(directory, parser.parse_args()), nprocs=WORLD, start_method="fork")

# SPDX-License-Identifier: Apache-2.0
