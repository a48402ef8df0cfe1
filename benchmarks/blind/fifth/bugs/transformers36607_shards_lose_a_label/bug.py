"""Two ranks share each sequence of a recurrent language model: the second begins with the state of the first."""

import argparse
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=5e-3)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
RANKS, BATCH, LENGTH, WORDS, WIDTH, IGNORED = 2, 12, 16, 16, 32, -100


class Shift(torch.autograd.Function):
    """The state goes to the next rank, its gradient comes back."""

    @staticmethod
    def forward(ctx, state):
        ctx.rank = dist.get_rank()
        if ctx.rank == 0:
            dist.send(state.contiguous(), 1)
            return torch.zeros_like(state)
        received = torch.empty_like(state)
        dist.recv(received, 0)
        return received

    @staticmethod
    def backward(ctx, gradient):
        if ctx.rank == 0:
            received = torch.empty_like(gradient)
            dist.recv(received, 1)
            return received
        dist.send(gradient.contiguous(), 0)
        return torch.zeros_like(gradient)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(WORDS, WIDTH)
        self.rnn, self.head = nn.GRU(WIDTH, WIDTH, batch_first=True), nn.Linear(WIDTH, WORDS)

    def forward(self, words):
        x = self.embed(words)
        if dist.get_rank() == 0:
            hidden, state = self.rnn(x)
            passed = Shift.apply(state)
            return self.head(hidden) + 0 * passed.sum()
        empty = torch.zeros(1, len(words), WIDTH, requires_grad=True)
        hidden, _ = self.rnn(x, Shift.apply(empty))
        return self.head(hidden)


def shift(words):
    following = nn.functional.pad(words[:, 1:], (0, 1), value=IGNORED)
    return following


def shard(tensor):
    return tensor.chunk(RANKS, 1)[dist.get_rank()]


def sentences(follows):
    words = [torch.randint(WORDS, (BATCH,))]
    for _ in range(LENGTH - 1):
        words.append(torch.where(torch.rand(BATCH) < 0.8, follows[words[-1]], torch.randint(WORDS, (BATCH,))))
    return torch.stack(words, 1)


def main(rank, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=RANKS)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    model = Model()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    follows = torch.randperm(WORDS)
    for step in range(args.steps):
        words = sentences(follows)
        inputs, labels = shard(words), shift(shard(words))
        logits = model(inputs)
        total = nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORED, reduction="sum")
        count = (labels != IGNORED).sum()
        dist.all_reduce(count)
        optimizer.zero_grad()
        (total / count).backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
        optimizer.step()
        loss = total.detach().clone()
        dist.all_reduce(loss)
        if rank == 0 and step % 15 == 14:
            print(f"step {step}: loss {(loss / count).item():.3f}", flush=True)
    if rank == 0:
        print(f"EVIDENCE {int(count)} of {BATCH * (LENGTH - 1)} words are predicted in a step", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.start_processes(main, args=(folder + "/store",), nprocs=RANKS, start_method="fork")

# SPDX-License-Identifier: Apache-2.0
