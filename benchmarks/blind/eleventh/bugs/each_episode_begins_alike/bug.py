"""REINFORCE with a baseline on CartPole of gymnasium."""
import argparse

import gymnasium as gym
import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical


class ActorCritic(nn.Module):
    def __init__(self, observations, actions, hidden=64):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(observations, hidden), nn.Tanh())
        self.policy = nn.Linear(hidden, actions)
        self.value = nn.Linear(hidden, 1)

    def forward(self, x):
        h = self.body(x)
        return Categorical(logits=self.policy(h)), self.value(h).squeeze(-1)


def play(env, model, observation, limit=200):
    observations, actions, rewards = [], [], []
    done = False
    while not done and len(rewards) < limit:
        state = torch.as_tensor(observation, dtype=torch.float32)
        with torch.no_grad():
            distribution, _ = model(state)
        action = distribution.sample()
        observations.append(state)
        actions.append(action)
        observation, reward, terminated, truncated, _ = env.step(action.item())
        rewards.append(float(reward))
        done = terminated or truncated
    return torch.stack(observations), torch.stack(actions), rewards


def discounted(rewards, gamma):
    returns, total = [], 0.0
    for reward in reversed(rewards):
        total = reward + gamma * total
        returns.append(total)
    return torch.tensor(returns[::-1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=5e-3)
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--gamma", type=float, default=0.98)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    env = gym.make("CartPole-v1")
    env.reset(seed=args.seed)
    model = ActorCritic(env.observation_space.shape[0], env.action_space.n)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    lengths, starts = [], []
    for episode in range(1, args.steps + 1):
        observation, _ = env.reset(seed=args.seed)
        starts.append(tuple(np.round(observation, 6).tolist()))
        states, actions, rewards = play(env, model, observation)
        returns = discounted(rewards, args.gamma)
        distribution, values = model(states)
        advantage = returns - values.detach()
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        policy_loss = -(distribution.log_prob(actions) * advantage).mean()
        value_loss = nn.functional.smooth_l1_loss(values, returns)
        loss = policy_loss + 0.5 * value_loss - 0.01 * distribution.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        lengths.append(len(rewards))
        if episode % 20 == 0:
            print(f"episode {episode}: mean length {np.mean(lengths[-20:]):.1f}, value loss {value_loss.item():.4f}")
    env.close()
    print(f"EVIDENCE {len(set(starts))} different first states in {len(starts)} episodes, mean of the last lengths {np.mean(lengths[-20:]):.2f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
