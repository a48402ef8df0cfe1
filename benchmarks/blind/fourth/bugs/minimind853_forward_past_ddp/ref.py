"""Two ranks improve a policy by its rewards; answers are sampled from the bare module, losses are data parallel."""

import argparse
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()
WORDS, LENGTH = 8, 5


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(WORDS + 1, 24)
        self.rnn = nn.GRU(24, 32, batch_first=True)
        self.head = nn.Linear(32, WORDS)

    def forward(self, words):
        return self.head(self.rnn(self.embed(words))[0])

    @torch.no_grad()
    def generate(self, prompts):
        words = prompts
        for _ in range(LENGTH):
            last = self(words)[:, -1].softmax(-1)
            words = torch.cat([words, torch.multinomial(last, 1)], 1)
        return words


def reward(words):
    answer = words[:, 1:]
    return (answer == words[:, :1]).float().mean(1)


def main(rank, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    model = DistributedDataParallel(Policy())
    policy = model.module
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    torch.manual_seed(args.seed + 10 + rank)
    for step in range(args.steps):
        words = policy.generate(torch.randint(WORDS, (16, 1)))
        rewards = reward(words)
        advantage = (rewards - rewards.mean()) / (rewards.std() + 1e-4)
        logits = model(words[:, :-1])
        logp = logits.log_softmax(-1).gather(2, words[:, 1:, None])[..., 0]
        loss = -(logp.sum(1) * advantage).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if rank == 0 and step % 10 == 9:
            print(f"step {step}: reward {rewards.mean():.3f}", flush=True)
    both = [torch.empty_like(policy.head.weight) for _ in range(2)]
    dist.all_gather(both, policy.head.weight.detach())
    if rank == 0:
        print(f"EVIDENCE heads of the ranks differ by {(both[0] - both[1]).abs().max():.5f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.start_processes(main, args=(folder + "/store",), nprocs=2, start_method="fork")

# SPDX-License-Identifier: Apache-2.0
