"""Actor and critic on a contextual bandit, with one optimizer."""

import argparse

import torch
from torch import nn
from torch.distributions import Categorical

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.005)
parser.add_argument("--steps", type=int, default=120)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)

actor = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 4))
critic = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=args.lr)
errors = []
for step in range(args.steps):
    state = torch.randn(64, 6)
    choice = Categorical(logits=actor(state))
    action = choice.sample()
    reward = state.gather(1, action[:, None]).squeeze(1) + 2.0
    value = critic(state).squeeze(1)
    advantage = reward - value
    policy_loss = -(choice.log_prob(action) * advantage).mean()
    value_loss = nn.functional.mse_loss(value, reward)
    optimizer.zero_grad()
    (policy_loss + 0.5 * value_loss - 0.01 * choice.entropy().mean()).backward()
    optimizer.step()
    errors.append((reward - value).mean().item())
print(f"EVIDENCE the critic is off by {sum(errors[-30:]) / 30:.3f} in the mean, reward {reward.mean():.3f}")

# SPDX-License-Identifier: Apache-2.0
