"""PPO with gaussian actions: many arms of a machine are set at once."""
import argparse

import numpy as np
import torch
import torch.nn as nn
from torch.distributions.normal import Normal

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=3e-3)
parser.add_argument("--steps", type=int, default=240)
parser.add_argument("--clip-coef", type=float, default=0.2)
parser.add_argument("--ent-coef", type=float, default=0.003)
ARMS, ENVS, LENGTH, EPOCHS = 6, 16, 16, 6


class Machine:
    """Each arm is to follow a mixture of what is observed; the price is the mean squared miss."""

    def __init__(self, generator):
        self.generator = generator
        self.mix = torch.randn(5, ARMS, generator=torch.Generator().manual_seed(8)) / 5 ** 0.5

    def observe(self):
        self.now = torch.randn(ENVS, 5, generator=self.generator)
        return self.now

    def step(self, action):
        reward = -(action - self.now @ self.mix).square().mean(1)
        return self.observe(), reward


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.critic = nn.Sequential(nn.Linear(5, 32), nn.Tanh(), nn.Linear(32, 1))
        self.actor_mean = nn.Sequential(nn.Linear(5, 32), nn.Tanh(), nn.Linear(32, ARMS))
        self.actor_logstd = nn.Parameter(torch.full((ARMS,), -0.5))

    def get_action(self, x, action=None):
        probs = Normal(self.actor_mean(x), self.actor_logstd.exp().expand(len(x), -1))
        if action is None:
            action = probs.sample()
        return action, probs.log_prob(action), probs.entropy().sum(1), self.critic(x)


if __name__ == "__main__":
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    np_random = np.random.default_rng(args.seed)
    envs, agent = Machine(torch.Generator().manual_seed(args.seed)), Agent()
    optimizer = torch.optim.Adam(agent.parameters(), lr=args.lr, eps=1e-5)
    obs, updates, clipfracs = envs.observe(), 0, []
    while updates < args.steps:
        storage = []
        for _ in range(LENGTH):
            with torch.no_grad():
                action, logprob, _, value = agent.get_action(obs)
            next_obs, reward = envs.step(action)
            storage.append((obs, action, logprob, reward[:, None] - value, reward[:, None]))
            obs = next_obs
        b_obs, b_actions, b_logprobs, b_advantages, b_returns = (torch.cat(part) for part in zip(*storage))
        for _ in range(EPOCHS):
            order = np_random.permutation(len(b_obs))
            for mb in np.split(order, 2):
                _, newlogprob, entropy, newvalue = agent.get_action(b_obs[mb], b_actions[mb])
                ratio = (newlogprob - b_logprobs[mb]).exp()
                advantages = b_advantages[mb]
                advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
                clipped = ratio.clamp(1 - args.clip_coef, 1 + args.clip_coef)
                pg_loss = -torch.min(advantages * ratio, advantages * clipped).mean()
                v_loss = (newvalue - b_returns[mb]).square().mean()
                loss = pg_loss + 0.5 * v_loss - args.ent_coef * entropy.mean()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                optimizer.step()
                updates += 1
                clipfracs.append(((ratio - 1).abs() > args.clip_coef).float().mean().item())
        if updates % 60 == 0:
            print(f"update {updates}: reward {b_returns.mean().item():.4f}, clipped {np.mean(clipfracs[-12:]):.3f}")
    with torch.no_grad():
        x = torch.randn(1000, 5, generator=torch.Generator().manual_seed(5))
        miss = (agent.actor_mean(x) - x @ envs.mix).square().mean().item()
    print(f"EVIDENCE mean squared miss {miss:.4f}, share of clipped ratios {np.mean(clipfracs):.4f}")

# SPDX-License-Identifier: Apache-2.0
