"""Advantage actor-critic on a bandit of contexts; a bonus for entropy keeps the policy from deciding too early."""

import argparse
import collections

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=150)
args = parser.parse_args()
CONTEXTS, ARMS, BONUS = 6, 5, 0.1


class Bandit:
    def __init__(self, generator):
        self.mean = torch.rand(CONTEXTS, ARMS, generator=generator)
        self.generator = generator

    def contexts(self, count):
        return torch.randint(CONTEXTS, (count,), generator=self.generator)

    def pull(self, context, arm):
        return self.mean[context, arm] + 0.5 * torch.randn(len(arm), generator=self.generator)


class Agent(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.embed = nn.Embedding(CONTEXTS, width)
        self.actor = nn.Sequential(nn.ReLU(), nn.Linear(width, ARMS))
        self.critic = nn.Sequential(nn.ReLU(), nn.Linear(width, 1))

    def forward(self, context):
        hidden = self.embed(context)
        return torch.distributions.Categorical(logits=self.actor(hidden)), self.critic(hidden).squeeze(1)


def losses(agent, bandit, size=32):
    context = bandit.contexts(size)
    policy, value = agent(context)
    arm = policy.sample()
    reward = bandit.pull(context, arm)
    advantage = (reward - value).detach()
    actor = -(policy.log_prob(arm) * advantage).mean()
    critic = (reward - value).square().mean()
    return actor, critic, policy.entropy().mean(), reward.mean()


def main():
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    bandit = Bandit(torch.Generator().manual_seed(args.seed))
    agent = Agent()
    optimizer = torch.optim.RMSprop(agent.parameters(), lr=args.lr)
    rewards = collections.deque(maxlen=20)
    for step in range(1, args.steps + 1):
        actor, critic, entropy, reward = losses(agent, bandit)
        loss = actor + 0.5 * critic - BONUS * entropy
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(agent.parameters(), 1.0)
        optimizer.step()
        rewards.append(reward.item())
        if step % 30 == 0:
            print(f"step {step}: reward {sum(rewards) / len(rewards):.3f}, entropy {entropy.item():.4f}")
    print(f"EVIDENCE the entropy of the policy is {entropy.item():.4f} at the end, reward {sum(rewards) / len(rewards):.3f}")


main()

# SPDX-License-Identifier: Apache-2.0
