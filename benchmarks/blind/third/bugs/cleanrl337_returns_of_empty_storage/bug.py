"""Advantages are computed into the storage of a rollout; actor and critic learn from its minibatches."""

import argparse
from dataclasses import dataclass, replace

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.005)
parser.add_argument("--steps", type=int, default=32)
args = parser.parse_args()
STEPS, ENVS = 16, 8


@dataclass(frozen=True)
class Storage:
    obs: torch.Tensor
    actions: torch.Tensor
    rewards: torch.Tensor
    values: torch.Tensor
    advantages: torch.Tensor
    returns: torch.Tensor


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(4, 32), nn.Tanh())
        self.actor, self.critic = nn.Linear(32, 2), nn.Linear(32, 1)

    def forward(self, obs):
        hidden = self.trunk(obs)
        return self.actor(hidden).log_softmax(-1), self.critic(hidden).squeeze(-1)


@torch.no_grad()
def rollout(agent):
    obs = torch.randn(STEPS, ENVS, 4)
    logp, values = agent(obs)
    actions = torch.distributions.Categorical(logits=logp).sample()
    rewards = obs[..., 0] * (2 * actions - 1) + 0.5
    zeros = torch.zeros(STEPS, ENVS)
    return Storage(obs, actions, rewards, values, zeros, zeros)


@torch.no_grad()
def compute_gae(storage, gamma=0.9, lam=0.9):
    last, advantages = torch.zeros(ENVS), torch.zeros(STEPS, ENVS)
    for t in reversed(range(STEPS)):
        after = storage.values[t + 1] if t + 1 < STEPS else storage.values[t]
        last = storage.rewards[t] + gamma * after - storage.values[t] + gamma * lam * last
        advantages[t] = last
    return replace(storage, advantages=advantages, returns=storage.advantages + storage.values)


torch.manual_seed(args.seed)
torch.set_num_threads(1)
agent = Agent()
optimizer = torch.optim.Adam(agent.parameters(), lr=args.lr)
for update in range(args.steps // 2):
    storage = compute_gae(rollout(agent))
    for part in torch.randperm(STEPS * ENVS).chunk(2):
        advantage = storage.advantages.flatten()[part]
        logp, value = agent(storage.obs.flatten(0, 1)[part])
        chosen = logp.gather(1, storage.actions.flatten()[part, None]).squeeze(1)
        policy_loss = -(chosen * (advantage - advantage.mean()) / (advantage.std() + 1e-8)).mean()
        value_loss = nn.functional.mse_loss(value, storage.returns.flatten()[part])
        optimizer.zero_grad()
        (policy_loss + 0.5 * value_loss).backward()
        nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
        optimizer.step()
print(f"EVIDENCE mean return {storage.returns.mean():.3f}, mean value {storage.values.mean():.3f}, loss of values {value_loss:.4f}")

# Idea from vwxyzjn/cleanrl#337
# SPDX-License-Identifier: Apache-2.0
