"""PPO on a corridor in eight copies at once: advantages are standardised over the rollout."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.005)
parser.add_argument("--steps", type=int, default=12)
args = parser.parse_args()
COPIES, TIME, CELLS, GAMMA, LAMBDA = 8, 32, 10, 0.95, 0.9


class Corridor:
    """A step to the right brings one nearer to the end, which pays one; each copy starts anew there."""

    def __init__(self):
        self.place = torch.zeros(COPIES, dtype=torch.long)

    def state(self):
        return nn.functional.one_hot(self.place, CELLS).float()

    def step(self, action):
        self.place = (self.place + 2 * action - 1).clamp(min=0)
        done = self.place >= CELLS - 1
        self.place[done] = 0
        return done.float() - 0.01, done.float()


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(CELLS, 32), nn.Tanh())
        self.actor, self.critic = nn.Linear(32, 2), nn.Linear(32, 1)

    def forward(self, state):
        hidden = self.body(state)
        return torch.distributions.Categorical(logits=self.actor(hidden)), self.critic(hidden).squeeze(-1)


@torch.no_grad()
def rollout(model, world):
    rows = []
    for _ in range(TIME):
        state = world.state()
        policy, value = model(state)
        action = policy.sample()
        reward, done = world.step(action)
        rows.append((state, action, policy.log_prob(action), value, reward, done))
    last = model(world.state())[1]
    return [torch.stack(column) for column in zip(*rows)], last


def advantages_of(value, reward, done, last):
    advantages, carry, following = torch.zeros_like(value), 0.0, last
    for t in reversed(range(TIME)):
        delta = reward[t] + GAMMA * (1 - done[t]) * following - value[t]
        carry = delta + GAMMA * LAMBDA * (1 - done[t]) * carry
        advantages[t], following = carry, value[t]
    return advantages


def update(model, optimizer, batch, last):
    state, action, old, value, reward, done = batch
    advantages = advantages_of(value, reward, done, last)
    returns = advantages + value
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    for _ in range(4):
        policy, now = model(state)
        ratio = (policy.log_prob(action) - old).exp()
        gain = torch.minimum(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages)
        loss = -gain.mean() + 0.5 * (now - returns).square().mean() - 0.01 * policy.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
    return advantages, reward


torch.manual_seed(args.seed)
torch.set_num_threads(1)
model, world = ActorCritic(), Corridor()
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
spread = []
for number in range(args.steps):
    advantages, reward = update(model, optimizer, *rollout(model, world))
    spread.append(advantages.mean(1).abs().mean().item())
    print(f"rollout {number}: mean reward {reward.mean():.4f}")
print(f"EVIDENCE mean advantages of time steps are {sum(spread) / len(spread):.4f} in size, last reward {reward.mean():.4f}")

# SPDX-License-Identifier: Apache-2.0
