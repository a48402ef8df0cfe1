"""Group-relative policy optimisation on one-step problems: several answers to each question, several updates of a rollout."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()
QUESTIONS, ANSWERS, GROUP = 16, 10, 8


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Embedding(QUESTIONS, 32), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, ANSWERS))

    def forward(self, question):
        return self.net(question).log_softmax(-1)


def rollout(policy):
    question = torch.randint(0, QUESTIONS, (12,)).repeat_interleave(GROUP)
    with torch.no_grad():
        logp = policy(question)
        answer = torch.multinomial(logp.exp(), 1)
        reward = 1 - (answer.squeeze(1) - question % ANSWERS).abs().float() / ANSWERS
        grouped = reward.view(-1, GROUP)
        advantage = (grouped - grouped.mean(1, keepdim=True)) / (grouped.std(1, keepdim=True) + 1e-4)
        return question, answer, advantage.flatten(), logp.gather(1, answer).squeeze(1), reward.mean()


def policy_loss(policy, question, answer, advantage, old_log_probs, clip=0.2):
    log_probs = policy(question).gather(1, answer).squeeze(1)
    ratio = torch.exp(log_probs - old_log_probs)
    clipped = torch.clamp(ratio, 1 - clip, 1 + clip)
    return -torch.min(ratio * advantage, clipped * advantage).mean(), (ratio != clipped).float().mean()


torch.manual_seed(args.seed)
torch.set_num_threads(1)
policy = Policy()
optimizer = torch.optim.Adam(policy.parameters(), lr=args.lr)
clipped = []
for iteration in range(args.steps // 4):
    question, answer, advantage, old_log_probs, reward = rollout(policy)
    for epoch in range(4):
        loss, fraction = policy_loss(policy, question, answer, advantage, old_log_probs)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        clipped.append(fraction.item())
print(f"EVIDENCE mean reward {reward:.3f}, clipped {max(clipped):.3f} at most")

# Idea from meta-pytorch/torchforge#571, higgsfield-ai/higgsfield#20
# SPDX-License-Identifier: Apache-2.0
