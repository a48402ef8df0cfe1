"""One rank only plays, the other only learns: experience goes one way, weights go back every few rounds, a little late."""

import argparse
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.distributions import Categorical
from torch.nn.utils import parameters_to_vector, vector_to_parameters

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
CONTEXTS, ACTIONS, BATCH, EVERY = 6, 4, 32, 4
LEARNER, ACTOR = 0, 1


def make_policy():
    return nn.Sequential(nn.Embedding(CONTEXTS, 16), nn.Tanh(), nn.Linear(16, ACTIONS))


def act(worth, rounds):
    policy = make_policy().requires_grad_(False)
    weights = torch.empty_like(parameters_to_vector(policy.parameters()))
    for number in range(rounds):
        if number % EVERY == 0:
            dist.recv(weights, LEARNER)
            vector_to_parameters(weights, policy.parameters())
        context = torch.randint(CONTEXTS, (BATCH,))
        choice = Categorical(logits=policy(context))
        action = choice.sample()
        reward = worth[context, action] + 0.1 * torch.randn(BATCH)
        dist.send(torch.stack([context.float(), action.float(), reward, choice.log_prob(action)]), LEARNER)


def learn(rounds):
    policy, baseline = make_policy(), torch.zeros(CONTEXTS)
    optimizer = torch.optim.RMSprop(policy.parameters(), lr=args.lr)
    packet = torch.empty(4, BATCH)
    for number in range(rounds):
        if number % EVERY == 0:
            dist.send(parameters_to_vector(policy.parameters()).detach(), ACTOR)
        dist.recv(packet, ACTOR)
        context, action, reward, behaviour = packet[0].long(), packet[1].long(), packet[2], packet[3]
        choice = Categorical(logits=policy(context))
        logp = choice.log_prob(action)
        ratio = (logp.detach() - behaviour).exp().clamp(max=2.0)
        advantage = reward - baseline[context]
        loss = -(ratio * advantage * logp).mean() - 0.01 * choice.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        for place, value in zip(context.tolist(), reward.tolist()):
            baseline[place] += 0.05 * (value - baseline[place])
        if number % 15 == 14:
            print(f"round {number}: reward {reward.mean().item():.3f}, ratio {ratio.mean().item():.3f}", flush=True)


def main(rank, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    torch.set_num_threads(1)
    worth = torch.rand(CONTEXTS, ACTIONS, generator=torch.Generator().manual_seed(args.seed))
    torch.manual_seed(args.seed + rank)
    if rank == ACTOR:
        act(worth, args.steps)
    else:
        learn(args.steps)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.start_processes(main, args=(folder + "/store",), nprocs=2, start_method="fork")

# SPDX-License-Identifier: Apache-2.0
