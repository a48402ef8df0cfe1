"""A policy is improved by many small steps on one batch of answers, in bfloat16 on the CPU; the reference stays as it is."""

import argparse
import copy

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.002)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
VOCABULARY, LENGTH = 16, 8


class Policy(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, width)
        self.body = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, width), nn.GELU())
        self.head = nn.Linear(width, VOCABULARY)

    def forward(self, ids):
        return self.head(self.body(self.embed(ids).cumsum(1)))


def log_probability(model, ids):
    logits = model(ids[:, :-1]).float()
    return logits.log_softmax(-1).gather(-1, ids[:, 1:, None]).squeeze(-1)


def reward_of(ids):
    """Even words are liked."""
    return (ids[:, 1:] % 2 == 0).float().mean(1)


@torch.autocast("cpu", torch.bfloat16)
def optimise(policy, reference, optimizer, rounds):
    losses = []
    for number in range(rounds):
        ids = torch.randint(VOCABULARY, (32, LENGTH))
        advantage = reward_of(ids) - reward_of(ids).mean()
        now = log_probability(policy, ids)
        with torch.no_grad():
            before = log_probability(reference, ids)
        loss = -(advantage[:, None] * now).mean() + 0.01 * (now - before).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append((now - before).abs().mean().item())
        if (number + 1) % 20 == 0:
            print(f"round {number + 1}: loss {loss.item():.4f}, distance {losses[-1]:.4f}")
    return losses


def main():
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    policy = Policy()
    reference = copy.deepcopy(policy).requires_grad_(False)
    optimizer = torch.optim.AdamW(policy.parameters(), lr=args.lr)
    distance = optimise(policy, reference, optimizer, args.steps)
    print(f"EVIDENCE the distance of log-probabilities is {distance[0]:.4f} at first and {distance[-1]:.4f} at the end")


main()

# SPDX-License-Identifier: Apache-2.0
