"""Deep deterministic policy gradients: targets of actor and critic, a critic that is no part of the actor's step."""

import copy

import torch
from torch import nn

from options import options


class Critic(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.state, self.both = nn.Linear(3, width), nn.Linear(width + 1, 1)

    def forward(self, state, action):
        return self.both(torch.cat([torch.relu(self.state(state)), action], 1))


def main():
    args = options(lr=1e-3, width=48, steps=80)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    actor = nn.Sequential(nn.Linear(3, args.width), nn.ReLU(), nn.Linear(args.width, 1), nn.Tanh())
    critic = Critic(args.width)
    targets = copy.deepcopy(actor), copy.deepcopy(critic)
    optimizers = torch.optim.Adam(actor.parameters(), args.lr), torch.optim.AdamW(critic.parameters(), 2 * args.lr)
    criterion, state = nn.SmoothL1Loss(), torch.randn(32, 3)
    for step in range(args.steps):
        with torch.no_grad():
            action = (actor(state) + 0.2 * torch.randn(32, 1)).clamp(-1, 1)
            after = 0.9 * state + 0.3 * action
            goal = -after.pow(2).sum(1, keepdim=True) + 0.9 * targets[1](after, targets[0](after))
        loss = criterion(critic(state, action), goal)
        optimizers[1].zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(critic.parameters(), 1.0)
        optimizers[1].step()
        optimizers[0].zero_grad()
        (-critic(state, actor(state)).mean()).backward()
        optimizers[0].step()
        for target, source in zip(targets, (actor, critic)):
            for t, s in zip(target.parameters(), source.parameters()):
                t.data.mul_(0.98).add_(s.data, alpha=0.02)
        state = torch.where(torch.rand(32, 1) < 0.05, torch.randn(32, 3), after)
        if step % 20 == 19:
            print(f"step {step + 1}: loss {loss.item():.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
