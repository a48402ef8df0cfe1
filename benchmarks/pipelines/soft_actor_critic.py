"""A random policy with a learned temperature, two critics and their targets."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from options import options


class Twins(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.one, self.two = (nn.Sequential(nn.Linear(5, width), nn.SiLU(), nn.Linear(width, 1)) for _ in range(2))

    def forward(self, state, action):
        both = torch.cat([state, action], -1)
        return self.one(both), self.two(both)


def draw(policy, state):
    mean, log_std = policy(state).chunk(2, -1)
    normal = torch.distributions.Normal(mean, log_std.clamp(-4, 1).exp())
    raw = normal.rsample()
    action = torch.tanh(raw)
    return action, (normal.log_prob(raw) - torch.log(1 - action.pow(2) + 1e-5)).sum(-1, keepdim=True)


def main():
    args = options(lr=2e-3, width=48, steps=70)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    policy = nn.Sequential(nn.Linear(3, args.width), nn.SiLU(), nn.Linear(args.width, 4))
    critics = Twins(args.width)
    targets = copy.deepcopy(critics).requires_grad_(False)
    log_alpha = torch.zeros(1, requires_grad=True)
    to_policy = torch.optim.Adam(policy.parameters(), lr=args.lr)
    to_critics = torch.optim.Adam(critics.parameters(), lr=args.lr)
    to_alpha = torch.optim.Adam([log_alpha], lr=args.lr)
    for step in range(args.steps):
        state, action = torch.randn(64, 3), torch.rand(64, 2) * 2 - 1
        after = state + 0.2 * torch.randn_like(state)
        reward = -(state[:, :2] - action).pow(2).sum(1, keepdim=True)
        with torch.no_grad():
            chosen, log_p = draw(policy, after)
            goal = reward + 0.9 * (torch.min(*targets(after, chosen)) - log_alpha.exp() * log_p)
        loss = sum(F.mse_loss(q, goal) for q in critics(state, action))
        to_critics.zero_grad()
        loss.backward()
        to_critics.step()
        chosen, log_p = draw(policy, state)
        to_policy.zero_grad()
        (log_alpha.exp().detach() * log_p - torch.min(*critics(state, chosen))).mean().backward()
        to_policy.step()
        to_alpha.zero_grad()
        (-log_alpha.exp() * (log_p.detach() - 2).mean()).backward()
        to_alpha.step()
        with torch.no_grad():
            for t, s in zip(targets.parameters(), critics.parameters()):
                t.mul_(0.98).add_(0.02 * s)
        if step % 20 == 19:
            print(f"step {step + 1}: loss {loss.item():.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
