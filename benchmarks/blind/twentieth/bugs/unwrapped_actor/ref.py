"""Contextual bandit with a softmax policy: two actors collect their own episodes, one policy is trained with DDP."""
import argparse
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel

N_CTX, N_ARMS = 6, 5


class Policy(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(N_CTX, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh())
        self.head = nn.Linear(hidden, N_ARMS)

    def forward(self, ctx):
        return self.head(self.body(ctx))


class AdServer:
    """Clicks follow a fixed preference matrix; every worker sees visitors of its own region."""

    def __init__(self, rank, seed):
        self.prefs = torch.randn(N_CTX, N_ARMS, generator=torch.Generator().manual_seed(7))
        self.gen = torch.Generator().manual_seed(seed * 100 + rank)
        self.shift = 0.5 * rank

    def visitors(self, n):
        return torch.randn(n, N_CTX, generator=self.gen) + self.shift

    def click(self, ctx, arm):
        rate = torch.sigmoid(ctx @ self.prefs).gather(1, arm[:, None]).squeeze(1)
        return torch.bernoulli(rate, generator=self.gen)


@torch.no_grad()
def rollout(policy, server, n):
    ctx = server.visitors(n)
    probs = policy(ctx).softmax(-1)
    arm = torch.multinomial(probs, 1, generator=server.gen).squeeze(1)
    return ctx, arm, server.click(ctx, arm)


def policy_loss(policy, ctx, arm, advantage, entropy_coef):
    dist_ = torch.distributions.Categorical(logits=policy(ctx))
    pg = -(dist_.log_prob(arm) * advantage).mean()
    return pg - entropy_coef * dist_.entropy().mean()


def replica_gap(module):
    """Largest difference of any weight between the two ranks."""
    flat = torch.cat([p.detach().flatten() for p in module.parameters()])
    high, low = flat.clone(), flat.clone()
    dist.all_reduce(high, op=dist.ReduceOp.MAX)
    dist.all_reduce(low, op=dist.ReduceOp.MIN)
    return (high - low).max().item()


def worker(rank, world, args):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=world)
    torch.manual_seed(args.seed)
    ddp_policy = DistributedDataParallel(Policy())
    actor = ddp_policy.module
    optim = torch.optim.Adam(ddp_policy.parameters(), lr=args.lr)
    server = AdServer(rank, args.seed)
    baseline = 0.5
    for it in range(args.steps):
        ctx, arm, reward = rollout(actor, server, args.episodes)
        advantage = reward - baseline
        loss = policy_loss(ddp_policy, ctx, arm, advantage, args.entropy)
        optim.zero_grad()
        loss.backward()
        optim.step()
        baseline = 0.9 * baseline + 0.1 * reward.mean().item()
        if rank == 0 and (it + 1) % 20 == 0:
            print(f"iter {it + 1} reward {baseline:.3f}", flush=True)
    gap = replica_gap(actor)
    if rank == 0:
        print(f"EVIDENCE replica_gap={gap:.6f} reward={baseline:.3f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=0.01)
    ap.add_argument("--steps", type=int, default=80)
    ap.add_argument("--episodes", type=int, default=128)
    ap.add_argument("--entropy", type=float, default=0.01)
    args = ap.parse_args()
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        os.environ["MASTER_PORT"] = str(s.getsockname()[1])
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    mp.spawn(worker, args=(2, args), nprocs=2)
