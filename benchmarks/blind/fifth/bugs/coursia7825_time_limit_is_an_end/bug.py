"""Proximal policy optimisation of a pole-like task whose episodes are cut by a time limit, in eight environments at once."""

import argparse

import torch
from torch import nn
from torch.distributions import Categorical

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=3e-3)
parser.add_argument("--steps", type=int, default=20)
args = parser.parse_args()
ENVS, HORIZON, LIMIT, GAMMA, LAMBDA = 8, 40, 15, 0.97, 0.95


class Balance:
    """A point drifts away from the middle; pushes hold it; an episode ends outside or after the limit."""

    def __init__(self):
        self.state, self.age = 0.2 * torch.randn(ENVS, 2), torch.zeros(ENVS)

    def step(self, action):
        place, speed = self.state.unbind(1)
        speed = speed + 0.1 * place + 0.1 * (2.0 * action - 1) + 0.02 * torch.randn(ENVS)
        place = place + 0.2 * speed
        self.state, self.age = torch.stack([place, speed], 1), self.age + 1
        terminated = place.abs() > 1
        truncated = (self.age >= LIMIT) & ~terminated
        final = self.state.clone()
        over = terminated | truncated
        self.state[over] = 0.2 * torch.randn(int(over.sum()), 2)
        self.age[over] = 0
        return final, torch.ones(ENVS), terminated.float(), truncated.float()


def advantages(rewards, values, next_values, terminated, truncated):
    last, result = torch.zeros(ENVS), torch.zeros_like(rewards)
    for t in reversed(range(HORIZON)):
        over = torch.maximum(terminated[t], truncated[t])
        delta = rewards[t] + GAMMA * next_values[t] * (1 - over) - values[t]
        last = delta + GAMMA * LAMBDA * (1 - over) * last
        result[t] = last
    return result


torch.manual_seed(args.seed)
torch.set_num_threads(1)
actor = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2))
critic = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=args.lr)
env = Balance()
for step in range(args.steps):
    rows = []
    with torch.no_grad():
        for _ in range(HORIZON):
            state = env.state.clone()
            policy = Categorical(logits=actor(state))
            action = policy.sample()
            final, reward, terminated, truncated = env.step(action)
            rows.append((state, action, policy.log_prob(action), reward, critic(state)[:, 0], critic(final)[:, 0],
                         terminated, truncated))
        states, actions, old, rewards, values, next_values, terminated, truncated = map(torch.stack, zip(*rows))
        advantage = advantages(rewards, values, next_values, terminated, truncated)
        returns = advantage + values
    flat = [x.flatten(0, 1) for x in (states, actions, old, advantage, returns)]
    for _ in range(4):
        for index in torch.randperm(ENVS * HORIZON).chunk(4):
            s, a, o, adv, ret = (x[index] for x in flat)
            adv = (adv - adv.mean()) / (adv.std() + 1e-8)
            policy = Categorical(logits=actor(s))
            ratio = (policy.log_prob(a) - o).exp()
            gain = torch.minimum(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean()
            error = nn.functional.mse_loss(critic(s)[:, 0], ret)
            loss = -gain + 0.5 * error - 0.01 * policy.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_([*actor.parameters(), *critic.parameters()], 0.5)
            optimizer.step()
    if step % 5 == 4:
        print(f"step {step}: falls {terminated.sum().item():.0f}, cut {truncated.sum().item():.0f}, "
              f"value {values.mean().item():.2f}")
print(f"EVIDENCE states before a cut are worth {next_values[truncated > 0].mean():.2f}, "
      f"their returns are {returns[truncated > 0].mean():.2f}")

# SPDX-License-Identifier: Apache-2.0
