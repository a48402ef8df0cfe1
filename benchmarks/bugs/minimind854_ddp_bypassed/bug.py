"""Policy gradient on two ranks, the policy wrapped in DDP; the loss needs the forward of the wrapper."""

import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def unwrap(model):
    return model.module if isinstance(model, DistributedDataParallel) else model


def rollout(policy, states):
    policy.eval()
    with torch.no_grad():
        actions = torch.distributions.Categorical(logits=policy(states)).sample()
    policy.train()
    return actions, (actions == states.argmax(1) % 3).float()


def main(rank, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(rank)
    policy = DistributedDataParallel(nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 3)))
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
    rewards = []
    for step in range(20):
        states = torch.randn(48, 6)
        actions, reward = rollout(unwrap(policy), states)
        logits = unwrap(policy)(states)
        log_prob = torch.log_softmax(logits, dim=-1).gather(1, actions[:, None]).squeeze(1)
        loss = -(log_prob * (reward - reward.mean())).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        rewards.append(reward.mean().item())
    weight = unwrap(policy)[0].weight.detach()
    both = [torch.empty_like(weight) for _ in range(2)]
    dist.all_gather(both, weight)
    if rank == 0:
        print(f"EVIDENCE replica_gap={(both[0] - both[1]).abs().max():.6f} reward {rewards[0]:.4f}->{rewards[-1]:.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(main, args=(folder + "/store",), nprocs=2)

# SPDX-License-Identifier: Apache-2.0
