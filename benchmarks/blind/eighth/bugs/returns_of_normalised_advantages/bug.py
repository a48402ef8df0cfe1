# Proximal policy optimisation on a batch of pole-like systems, one file.
import argparse

import torch
import torch.nn as nn
import torch.optim as optim
from torch.distributions.categorical import Categorical


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=20, help="number of rollouts")
    args = parser.parse_args()
    args.num_envs, args.num_steps, args.gamma, args.gae_lambda = 32, 32, 0.95, 0.9
    args.update_epochs, args.num_minibatches, args.clip_coef, args.ent_coef, args.vf_coef = 4, 4, 0.2, 0.005, 0.5
    return args


class Balance:
    """A stick that falls unless it is pushed; the reward is 1 while it stands."""

    def __init__(self, n):
        self.n = n
        self.state = torch.zeros(n, 2)
        self.reset(torch.ones(n, dtype=torch.bool))

    def reset(self, which):
        self.state[which] = (torch.rand(int(which.sum()), 2) - 0.5) * 0.4
        return self.state.clone()

    def step(self, action):
        angle, speed = self.state[:, 0], self.state[:, 1]
        speed = speed + 0.15 * angle + 0.1 * (action.float() * 2 - 1) + 0.02 * torch.randn(self.n)
        self.state = torch.stack([angle + 0.3 * speed, speed], 1)
        done = self.state[:, 0].abs() > 1
        reward = 1.0 - self.state[:, 0].abs().clamp(max=1.0)
        return self.reset(done), reward, done.float()


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.critic = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 1))
        self.actor = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 2))

    def get_value(self, x):
        return self.critic(x).flatten()

    def get_action_and_value(self, x, action=None):
        probs = Categorical(logits=self.actor(x))
        if action is None:
            action = probs.sample()
        return action, probs.log_prob(action), probs.entropy(), self.get_value(x)


if __name__ == "__main__":
    args = parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    envs, agent = Balance(args.num_envs), Agent()
    optimizer = optim.Adam(agent.parameters(), lr=args.lr, eps=1e-5)
    obs = torch.zeros(args.num_steps, args.num_envs, 2)
    actions, logprobs, rewards, dones, values = (torch.zeros(args.num_steps, args.num_envs) for _ in range(5))
    next_obs, next_done = envs.state.clone(), torch.zeros(args.num_envs)
    for iteration in range(1, args.steps + 1):
        for step in range(args.num_steps):
            obs[step], dones[step] = next_obs, next_done
            with torch.no_grad():
                action, logprob, _, value = agent.get_action_and_value(next_obs)
            actions[step], logprobs[step], values[step] = action, logprob, value
            next_obs, rewards[step], next_done = envs.step(action)
        with torch.no_grad():
            next_value = agent.get_value(next_obs)
            advantages = torch.zeros_like(rewards)
            lastgaelam = 0
            for t in reversed(range(args.num_steps)):
                nextnonterminal = 1.0 - (next_done if t == args.num_steps - 1 else dones[t + 1])
                nextvalues = next_value if t == args.num_steps - 1 else values[t + 1]
                delta = rewards[t] + args.gamma * nextvalues * nextnonterminal - values[t]
                advantages[t] = lastgaelam = delta + args.gamma * args.gae_lambda * nextnonterminal * lastgaelam
            advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
            returns = advantages + values
        b_obs, b_actions = obs.flatten(0, 1), actions.flatten()
        b_logprobs, b_advantages, b_returns = logprobs.flatten(), advantages.flatten(), returns.flatten()
        for epoch in range(args.update_epochs):
            for mb in torch.randperm(len(b_obs)).chunk(args.num_minibatches):
                _, newlogprob, entropy, newvalue = agent.get_action_and_value(b_obs[mb], b_actions[mb])
                ratio = (newlogprob - b_logprobs[mb]).exp()
                pg_loss1 = -b_advantages[mb] * ratio
                pg_loss2 = -b_advantages[mb] * torch.clamp(ratio, 1 - args.clip_coef, 1 + args.clip_coef)
                pg_loss = torch.max(pg_loss1, pg_loss2).mean()
                v_loss = 0.5 * ((newvalue - b_returns[mb]) ** 2).mean()
                loss = pg_loss - args.ent_coef * entropy.mean() + v_loss * args.vf_coef
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                optimizer.step()
        if iteration % 4 == 0:
            print(f"iteration {iteration}: reward {rewards.mean():.3f}, v_loss {v_loss.item():.4f}, falls {int(dones.sum())}")
    discounted = torch.zeros(args.num_envs)
    for t in reversed(range(args.num_steps)):
        after = next_done if t == args.num_steps - 1 else dones[t + 1]
        discounted = rewards[t] + args.gamma * discounted * (1 - after)
    with torch.no_grad():
        mean_value = agent.get_value(obs[0]).mean().item()
    print(f"EVIDENCE mean value {mean_value:.3f}, mean discounted reward over {args.num_steps} steps {discounted.mean():.3f}")

# SPDX-License-Identifier: Apache-2.0
