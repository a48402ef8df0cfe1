"""Twin critics with delayed updates of the actor; three target networks follow by small steps."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from options import options


def net(n_in, n_out, width):
    return nn.Sequential(nn.Linear(n_in, width), nn.ReLU(), nn.Linear(width, n_out))


@torch.no_grad()
def follow(target, source, tau=0.02):
    for t, s in zip(target.parameters(), source.parameters()):
        t.lerp_(s, tau)


def main():
    args = options(lr=2e-3, width=48, steps=80)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    actor, critics = net(3, 1, args.width), [net(4, 1, args.width) for _ in range(2)]
    target_actor, target_critics = copy.deepcopy(actor), copy.deepcopy(critics)
    actor_optimizer = torch.optim.Adam(actor.parameters(), lr=args.lr)
    critic_optimizer = torch.optim.Adam([p for c in critics for p in c.parameters()], lr=args.lr)
    for step in range(args.steps):
        state, action = torch.randn(64, 3), torch.rand(64, 1) * 2 - 1
        after, done = state + 0.3 * action, torch.rand(64, 1) < 0.05
        reward = -after.abs().mean(1, keepdim=True)
        with torch.no_grad():
            chosen = (torch.tanh(target_actor(after)) + 0.1 * torch.randn_like(action)).clamp(-1, 1)
            value = torch.minimum(*(t(torch.cat([after, chosen], 1)) for t in target_critics))
            goal = reward + 0.95 * value * ~done
        loss = sum(F.mse_loss(c(torch.cat([state, action], 1)), goal) for c in critics)
        critic_optimizer.zero_grad()
        loss.backward()
        critic_optimizer.step()
        if step % 2:
            actor_loss = -critics[0](torch.cat([state, torch.tanh(actor(state))], 1)).mean()
            actor_optimizer.zero_grad()
            actor_loss.backward()
            actor_optimizer.step()
            follow(target_actor, actor)
            for t, c in zip(target_critics, critics):
                follow(t, c)
        if step % 20 == 19:
            print(f"step {step + 1}: loss {loss.item():.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
