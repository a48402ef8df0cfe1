"""Answers of a small policy are compared within groups of one prompt; prompts differ in how hard they are."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()
PROMPTS, GROUP, ACTIONS = 8, 6, 5


class Policy(nn.Module):
    def __init__(self, prompts):
        super().__init__()
        self.net = nn.Sequential(nn.Embedding(prompts, 32), nn.Linear(32, 48), nn.Tanh(), nn.Linear(48, ACTIONS))

    def forward(self, prompt):
        return torch.distributions.Categorical(logits=self.net(prompt))


def rollout(policy, prompts, best, easy):
    prompts = prompts.repeat(GROUP)
    with torch.no_grad():
        dist = policy(prompts)
        answers = dist.sample()
        logp = dist.log_prob(answers)
    rewards = (answers == best[prompts]).float() + easy[prompts]
    return prompts, answers, logp, rewards


def group_advantages(rewards):
    groups = rewards.view(-1, GROUP)
    centred = groups - groups.mean(1, keepdim=True)
    return (centred / (groups.std(1, keepdim=True) + 1e-4)).flatten()


torch.manual_seed(args.seed)
torch.set_num_threads(1)
best = torch.randint(ACTIONS, (32,))
easy = 2 * torch.rand(32)
policy = Policy(32)
optimizer = torch.optim.Adam(policy.parameters(), lr=args.lr)
for step in range(args.steps):
    prompts, answers, old, rewards = rollout(policy, torch.randperm(32)[:PROMPTS], best, easy)
    advantage = group_advantages(rewards)
    for _ in range(2):
        ratio = (policy(prompts).log_prob(answers) - old).exp()
        loss = -torch.minimum(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimizer.step()
    if step % 10 == 9:
        with torch.no_grad():
            right = policy(torch.arange(32)).probs.gather(1, best[:, None]).mean()
        print(f"step {step}: probability of the best answers {right:.3f}")
different = (prompts.view(-1, GROUP) != prompts.view(-1, GROUP)[:, :1]).any(1).sum()
print(f"EVIDENCE {different} of {PROMPTS} groups mix prompts; best answers have {right:.4f}")

# SPDX-License-Identifier: Apache-2.0
