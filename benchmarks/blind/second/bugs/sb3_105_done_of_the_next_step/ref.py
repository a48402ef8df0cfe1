"""Advantages over episodes of several environments: actor and critic learn from rollouts."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
ENVS, HORIZON, GAMMA, LAMBDA = 8, 32, 0.95, 0.9


class Targets:
    """Reach a cell on a line; episodes end there, with a reward, or at a pit on the other side."""

    def __init__(self, n, cells=7):
        self.cells, self.at = cells, torch.full((n,), cells // 2)

    def observe(self):
        return nn.functional.one_hot(self.at, self.cells).float()

    def step(self, action):
        self.at = self.at + 2 * action - 1
        done = (self.at == 0) | (self.at == self.cells - 1)
        reward = (self.at == self.cells - 1).float() - (self.at == 0).float() - 0.02
        self.at = torch.where(done, self.cells // 2, self.at)
        return self.observe(), reward, done.float()


class Agent(nn.Module):
    def __init__(self, inputs):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(inputs, 32), nn.Tanh(), nn.Linear(32, 2))
        self.critic = nn.Sequential(nn.Linear(inputs, 32), nn.Tanh(), nn.Linear(32, 1))

    def value(self, obs):
        return self.critic(obs).squeeze(-1)


class Rollout:
    def __init__(self, inputs):
        self.obs = torch.zeros(HORIZON, ENVS, inputs)
        self.actions = torch.zeros(HORIZON, ENVS, dtype=torch.long)
        self.rewards, self.dones, self.values = (torch.zeros(HORIZON, ENVS) for _ in range(3))

    @torch.no_grad()
    def collect(self, env, agent, obs, last_done):
        """dones[t] says whether obs[t] begins an episode."""
        for t in range(HORIZON):
            self.obs[t], self.values[t] = obs, agent.value(obs)
            self.actions[t] = torch.distributions.Categorical(logits=agent.actor(obs)).sample()
            obs, self.rewards[t], done = env.step(self.actions[t])
            self.dones[t] = last_done
            last_done = done
        return obs, last_done

    def advantages(self, last_value, last_done):
        out, running = torch.zeros_like(self.rewards), 0.0
        for t in reversed(range(HORIZON)):
            if t == HORIZON - 1:
                nonterminal, following = 1.0 - last_done, last_value
            else:
                nonterminal, following = 1.0 - self.dones[t + 1], self.values[t + 1]
            delta = self.rewards[t] + GAMMA * following * nonterminal - self.values[t]
            running = delta + GAMMA * LAMBDA * nonterminal * running
            out[t] = running
        return out


env = Targets(ENVS)
obs, last_done = env.observe(), torch.zeros(ENVS)
agent, rollout = Agent(7), Rollout(7)
optimizer = torch.optim.Adam(agent.parameters(), lr=args.lr, eps=1e-5)
for update in range(args.steps):
    obs, last_done = rollout.collect(env, agent, obs, last_done)
    with torch.no_grad():
        advantages = rollout.advantages(agent.value(obs), last_done)
    returns = advantages + rollout.values
    chosen = torch.distributions.Categorical(logits=agent.actor(rollout.obs))
    normalised = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    policy_loss = -(chosen.log_prob(rollout.actions) * normalised).mean()
    value_loss = nn.functional.mse_loss(agent.value(rollout.obs), returns)
    loss = policy_loss + 0.5 * value_loss - 0.01 * chosen.entropy().mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
    optimizer.step()
with torch.no_grad():
    beside = agent.value(torch.eye(7)[5]).item()
print(f"EVIDENCE the value beside the goal is {beside:.3f} where 0.98 is right; mean reward {rollout.rewards.mean():.3f}, loss {loss.item():.3f}")

# Idea from DLR-RM/stable-baselines3#105, anthonytorlucci/rlevo#342
# SPDX-License-Identifier: Apache-2.0
