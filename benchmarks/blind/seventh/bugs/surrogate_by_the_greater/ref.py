"""Clipped policy gradients on a contextual bandit with five arms, several epochs over each batch."""

import argparse

import torch
from torch import nn

def get_args():
    parser = argparse.ArgumentParser(description=__doc__)
    for name, kind, default in (("--seed", int, 0), ("--lr", float, 0.01), ("--steps", int, 20)):
        parser.add_argument(name, type=kind, default=default)
    return parser.parse_args()


args = get_args()
ARMS, CLIP = 5, 0.2


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 32), nn.Tanh())
        self.arms, self.value = nn.Linear(32, ARMS), nn.Linear(32, 1)

    def forward(self, context):
        hidden = self.body(context)
        return torch.distributions.Categorical(logits=self.arms(hidden)), self.value(hidden).squeeze(1)


torch.manual_seed(args.seed)
torch.set_num_threads(1)
worth = torch.randn(4, ARMS)
policy = Policy()
optimizer = torch.optim.Adam(policy.parameters(), lr=args.lr)
furthest = 0.0
for step in range(1, args.steps + 1):
    context = torch.randn(128, 4)
    with torch.no_grad():
        old, value = policy(context)
        arm = old.sample()
        before = old.log_prob(arm)
        reward = (context @ worth).gather(1, arm[:, None]).squeeze(1) + torch.randn(128)
        advantage = reward - value
        advantage = (advantage - advantage.mean()) / advantage.std()
    for epoch in range(10):
        for rows in torch.randperm(128).split(64):
            now, value = policy(context[rows])
            ratio = (now.log_prob(arm[rows]) - before[rows]).exp()
            free = ratio * advantage[rows]
            held = ratio.clamp(1 - CLIP, 1 + CLIP) * advantage[rows]
            policy_loss = -torch.min(free, held).mean()
            loss = policy_loss + 0.5 * nn.functional.mse_loss(value, reward[rows]) - 0.01 * now.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
            optimizer.step()
    with torch.no_grad():
        moved = (policy(context)[0].log_prob(arm) - before).abs().mean().item()
    furthest = max(furthest, moved)
    if step % 5 == 0:
        print(f"step {step}: loss {loss.item():.4f}, reward {reward.mean().item():.4f}, moved {moved:.4f}")
print(f"EVIDENCE an iteration moved log-probabilities by up to {furthest:.4f}")

# SPDX-License-Identifier: Apache-2.0
