"""Evolution strategies on two ranks: no backward pass; ranks exchange scores only and redraw each other's noise from seeds."""
import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn


class Pendulum:
    """Batch of swing-ups with small torque; the reward is the height minus a cost."""

    def __init__(self, n, g):
        self.angle = torch.pi + 0.3 * torch.randn(n, generator=g)
        self.speed = 0.3 * torch.randn(n, generator=g)

    def observe(self):
        return torch.stack([self.angle.cos(), self.angle.sin(), self.speed / 4], 1)

    def step(self, torque):
        torque = 2.0 * torque.clamp(-1, 1)
        self.speed = (self.speed + 0.08 * (8.0 * self.angle.sin() + 3.0 * torque)).clamp(-8, 8)
        self.angle = self.angle + 0.08 * self.speed
        return self.angle.cos() - 0.01 * self.speed ** 2 - 0.01 * torque ** 2


@torch.no_grad()
def episode_return(policy, env_seed, n=8, horizon=60):
    env = Pendulum(n, torch.Generator().manual_seed(env_seed))
    total = torch.zeros(n)
    for _ in range(horizon):
        total += env.step(policy(env.observe()).squeeze(1))
    return total.mean().item() / horizon


def flatten(policy):
    return torch.cat([p.detach().flatten() for p in policy.parameters()])


def write_(policy, vector):
    nn.utils.vector_to_parameters(vector, policy.parameters())


def noise(size, seed):
    return torch.randn(size, generator=torch.Generator().manual_seed(seed))


def centered_ranks(scores):
    ranks = scores.argsort().argsort().float()
    return ranks / (len(scores) - 1) - 0.5


def worker(rank, world, args, init_file):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{init_file}", rank=rank, world_size=world)
    torch.manual_seed(args.seed)
    policy = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))
    center = flatten(policy)
    momentum = torch.zeros_like(center)
    per_rank = args.pairs // world
    for step in range(1, args.steps + 1):
        seeds = [args.seed * 1_000_000 + step * 1000 + i for i in range(args.pairs)]
        local = torch.zeros(args.pairs, 2)
        for i in range(rank * per_rank, (rank + 1) * per_rank):
            eps = noise(len(center), seeds[i])
            for j, sign in enumerate((1.0, -1.0)):             # mirrored pair, common random starts
                write_(policy, center + sign * args.sigma * eps)
                local[i, j] = episode_return(policy, env_seed=step)
        dist.all_reduce(local)                                 # zeros elsewhere, so the sum is a gather
        weight = centered_ranks(local.flatten()).view(-1, 2)
        grad = sum((w[0] - w[1]) * noise(len(center), s) for w, s in zip(weight, seeds)) / (args.pairs * args.sigma)
        momentum = 0.9 * momentum + grad
        center = center + args.lr * momentum
        if step % 20 == 0 and rank == 0:
            print(f"step {step} loss {-local.mean().item():.4f}", flush=True)
    write_(policy, center)
    if rank == 0:
        print(f"EVIDENCE mean_reward={episode_return(policy, 31337, n=64):.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--lr", type=float, default=0.02)
    p.add_argument("--steps", type=int, default=40)
    p.add_argument("--pairs", type=int, default=8)
    p.add_argument("--sigma", type=float, default=0.15)
    args = p.parse_args()
    with tempfile.TemporaryDirectory() as tmp:
        mp.spawn(worker, args=(2, args, os.path.join(tmp, "init")), nprocs=2)


if __name__ == "__main__":
    main()
