"""Soft actor-critic for one step: actions of two dimensions, a reward that depends on the state; the temperature is learned."""

import argparse
import math

import torch
from torch import nn

def get_args():
    parser = argparse.ArgumentParser(description=__doc__)
    for name, kind, default in (("--seed", int, 0), ("--lr", float, 0.005), ("--steps", int, 250)):
        parser.add_argument(name, type=kind, default=default)
    return parser.parse_args()


args = get_args()
ACTIONS = 2


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 2 * ACTIONS))

    def forward(self, state):
        mean, log_std = self.body(state).chunk(2, dim=1)
        normal = torch.distributions.Normal(mean, log_std.clamp(-4, 1).exp())
        raw = normal.rsample()
        squashed = 2 * (math.log(2) - raw - nn.functional.softplus(-2 * raw))
        return raw.tanh(), (normal.log_prob(raw) - squashed).sum(1), mean.tanh()


def reward(state, action):
    return -(action - state[:, :ACTIONS].tanh()).square().sum(1)


torch.manual_seed(args.seed)
torch.set_num_threads(1)
actor = Actor()
critic = nn.Sequential(nn.Linear(3 + ACTIONS, 48), nn.ReLU(), nn.Linear(48, 1))
log_alpha = torch.zeros((), requires_grad=True)
optimizers = [torch.optim.Adam(p, lr=args.lr) for p in (actor.parameters(), critic.parameters(), [log_alpha])]
target = -float(ACTIONS)
for step in range(1, args.steps + 1):
    state = torch.randn(64, 3)
    with torch.no_grad():
        tried, _, _ = actor(state)
    value = critic(torch.cat([state, tried], dim=1)).squeeze(1)
    critic_loss = nn.functional.mse_loss(value, reward(state, tried))
    optimizers[1].zero_grad()
    critic_loss.backward()
    optimizers[1].step()
    action, log_prob, _ = actor(state)
    actor_loss = (log_alpha.exp().detach() * log_prob - critic(torch.cat([state, action], dim=1)).squeeze(1)).mean()
    optimizers[0].zero_grad()
    actor_loss.backward()
    optimizers[0].step()
    alpha_loss = -(log_alpha * (log_prob.detach() + target)).mean()
    optimizers[2].zero_grad()
    alpha_loss.backward()
    optimizers[2].step()
    if step % 50 == 0:
        state = torch.randn(300, 3)
        with torch.no_grad():
            drawn = reward(state, actor(state)[0]).mean().item()
        print(f"step {step}: critic {critic_loss.item():.4f}, alpha {log_alpha.exp().item():.4f}, reward {drawn:.4f}")
print(f"EVIDENCE the temperature is {log_alpha.exp().item():.4f}, the reward of drawn actions {drawn:.4f}")

# SPDX-License-Identifier: Apache-2.0
