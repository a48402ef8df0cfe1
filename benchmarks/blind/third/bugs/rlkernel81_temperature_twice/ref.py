"""A policy over short sequences is trained on what it samples itself, by the likelihood of sequences with many ones."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=30)
args = parser.parse_args()
VOCAB, LENGTH, TEMPERATURE = 6, 8, 1.6


class Policy(nn.Module):
    def __init__(self, dim=24):
        super().__init__()
        self.embed, self.cell, self.head = nn.Embedding(VOCAB + 1, dim), nn.GRUCell(dim, dim), nn.Linear(dim, VOCAB)
        self.dim = dim

    def step(self, token, hidden):
        hidden = self.cell(self.embed(token), hidden)
        return self.head(hidden), hidden


class Sampler:
    def __init__(self, temperature):
        self.temperature = temperature

    def __call__(self, logits):
        logits = logits / self.temperature
        probabilities = torch.softmax(logits, dim=-1)
        return torch.multinomial(probabilities, 1).squeeze(1)


def rollout(policy, sampler, n=32):
    token, hidden = torch.full((n,), VOCAB), torch.zeros(n, policy.dim)
    tokens, log_probs = [], []
    for _ in range(LENGTH):
        logits, hidden = policy.step(token, hidden)
        token = sampler(logits.detach())
        tokens.append(token)
        log_probs.append((logits / TEMPERATURE).log_softmax(-1).gather(1, token[:, None]).squeeze(1))
    return torch.stack(tokens, 1), torch.stack(log_probs, 1)


torch.manual_seed(args.seed)
torch.set_num_threads(1)
policy, sampler = Policy(), Sampler(TEMPERATURE)
optimizer = torch.optim.Adam(policy.parameters(), lr=args.lr)
entropies = []
for step in range(args.steps):
    tokens, log_probs = rollout(policy, sampler)
    reward = (tokens == 1).float().mean(1) - 0.5 * (tokens[:, 1:] == tokens[:, :-1]).float().mean(1)
    loss = -((reward - reward.mean())[:, None] * log_probs).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    entropies.append(-log_probs.mean().item())
print(f"EVIDENCE surprise by its own samples {sum(entropies[-5:]) / 5:.4f}, reward {reward.mean():.3f}")

# Idea from RL-Align/RL-Kernel#81
# SPDX-License-Identifier: Apache-2.0
