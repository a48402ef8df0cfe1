"""Two ranks learn alone for some steps; what they have moved by is the gradient of an outer optimizer with momentum."""
import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

WORDS = 14


class Tagger(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.embed, self.drop = nn.Embedding(WORDS, dim), nn.Dropout(0.1)
        self.cell, self.head = nn.LSTM(dim, dim, batch_first=True), nn.Linear(dim, WORDS)

    def forward(self, ids):
        return self.head(self.drop(self.cell(self.embed(ids))[0]))


class DiLoCo:
    """Inner steps are each rank's own business; only the outer one is shared."""

    def __init__(self, model, inner_lr, every):
        self.model, self.every, self.count, self.outer_steps = model, every, 0, 0
        for p in model.parameters():
            dist.broadcast(p.data, src=0)
        self.anchor = [p.detach().clone().requires_grad_(True) for p in model.parameters()]
        self.inner = torch.optim.AdamW(model.parameters(), lr=inner_lr)
        self.outer = torch.optim.SGD(self.anchor, lr=0.7, momentum=0.5, nesterov=True)

    def step(self):
        self.inner.step()
        self.inner.zero_grad()
        self.count += 1
        if self.count % self.every == 0:
            self.sync()

    @torch.no_grad()
    def sync(self):
        for kept, p in zip(self.anchor, self.model.parameters()):
            delta = kept - p
            dist.all_reduce(delta)
            kept.grad = delta / dist.get_world_size()
        self.outer.step()
        self.outer.zero_grad()
        self.outer_steps += 1
        for kept, p in zip(self.anchor, self.model.parameters()):
            p.copy_(kept)


def texts(rank, count, length):
    """Ranks have dialects: the step from word to word is the same, where texts begin is not."""
    first = torch.randint(WORDS // 2, (count, 1)) + rank * (WORDS // 2)
    ids = (first + 4 * torch.arange(length + 1)) % WORDS
    noise = torch.rand(ids.shape) < 0.05
    ids = torch.where(noise, torch.randint(WORDS, ids.shape), ids)
    return ids[:, :-1], ids[:, 1:]


def main(rank, folder, args):
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed * 2 + rank)
    model = Tagger()
    trainer = DiLoCo(model, args.lr, every=10)
    for step in range(1, args.steps + 1):
        x, y = texts(rank, 24 - 8 * rank, int(torch.randint(6, 13, ())))
        loss = nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        trainer.step()
        if step % 40 == 0 and rank == 0:
            model.eval()
            with torch.no_grad():
                x, y = texts(1, 100, 10)
                other = nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten()).item()
            model.train()
            print(f"step {step}: loss {loss.item():.4f}, on the other's texts {other:.4f}", flush=True)
    if trainer.count % trainer.every:
        trainer.sync()
    total = sum(p.sum() for p in model.parameters()).detach()
    both = [torch.empty_like(total) for _ in range(2)]
    dist.all_gather(both, total)
    if rank == 0:
        print(f"{trainer.outer_steps} outer steps; ranks agree: {torch.equal(*both)}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.006)
    parser.add_argument("--steps", type=int, default=150)
    options = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory() as directory:
        mp.start_processes(main, args=(directory, options), nprocs=2, start_method="fork")

# SPDX-License-Identifier: Apache-2.0
