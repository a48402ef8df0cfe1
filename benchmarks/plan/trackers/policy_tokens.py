# SPDX-License-Identifier: Apache-2.0
"""GRPO-like policy update: DDP with no_sync over micro-batches, a clipped ratio, a KL term to a reference, an entropy
bonus; advantages are normalised over the batch of all ranks, losses are divided by all valid tokens of the step. Bugs:
sample_ratio (verl #5625: each micro-batch is divided by its own tokens and weighed by its samples), divided_twice
(ms-swift #10116: what is divided by the tokens of all micro-batches is divided by their number, too), own_advantage
(Video-R1 #35, a gather of rewards that is missing, and NousResearch/torchtitan #69: mean and deviation are those of the
rank's rewards)."""
import argparse
import contextlib

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel

VOCABULARY, WIDTH, HIDDEN, BATCH, LENGTH, MICRO = 16, 9, 14, 12, 5, 3


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.place = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.gru = nn.Sequential(nn.Linear(WIDTH, HIDDEN), nn.SiLU(), nn.Linear(HIDDEN, WIDTH), nn.LayerNorm(WIDTH))
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, ids):
        x = self.embed(ids) + self.place.weight
        x = x + x.cumsum(1) / torch.arange(1, LENGTH + 1)[:, None]
        return self.head(x + self.gru(x))


def token_losses(logits, actions, old, reference, advantage):
    logs = F.log_softmax(logits, -1)
    taken = logs.gather(-1, actions[..., None]).squeeze(-1)
    ratio = torch.exp(taken - old)
    surrogate = torch.minimum(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage)
    away = reference - taken
    kl = away.exp() - away - 1
    entropy = -(logs.exp() * logs).sum(-1)
    return -surrogate + 0.1 * kl - 0.02 * entropy


def normalised(rewards, parallel):
    count, total, square = torch.tensor(float(rewards.numel())), rewards.sum(), rewards.square().sum()
    if parallel:  # place own_advantage
        for t in (count, total, square):
            dist.all_reduce(t)  # place own_advantage
    mean = total / count  # place own_advantage
    return (rewards - mean) / ((square / count - mean ** 2).sqrt() + 1e-4)  # place own_advantage


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dp", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--bug", default="")
    args = parser.parse_args()
    parallel, rank = args.dp > 1, 0
    torch.manual_seed(81)
    model = Policy()
    if parallel:
        dist.init_process_group("gloo")
        rank = dist.get_rank()
        model = DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, eps=1e-4)
    data = torch.Generator().manual_seed(29)
    lengths = torch.tensor([5, 2, 4, 3, 1, 5, 2, 5, 3, 4, 4, 1])
    for _ in range(args.steps):
        text = torch.randint(VOCABULARY, (BATCH, LENGTH + 1), generator=data)
        old = -2.5 + 0.5 * torch.randn(BATCH, LENGTH, generator=data)
        reference = -2.5 + 0.5 * torch.randn(BATCH, LENGTH, generator=data)
        rewards = torch.randn(BATCH, generator=data)
        valid = torch.arange(LENGTH) < lengths[:, None]
        text, old, reference, rewards, valid = (t.chunk(args.dp)[rank] for t in (text, old, reference, rewards, valid))
        advantage = normalised(rewards, parallel and args.bug != "own_advantage")  # place own_advantage
        tokens = valid.sum()
        if parallel:
            dist.all_reduce(tokens)
        optimizer.zero_grad()
        parts = [t.chunk(MICRO) for t in (text, old, reference, advantage, valid)]
        for i, (words, before, anchor, gain, mask) in enumerate(zip(*parts)):
            wait = model.no_sync() if parallel and i + 1 < MICRO else contextlib.nullcontext()
            with wait:
                losses = token_losses(model(words[:, :-1]), words[:, 1:], before, anchor, gain[:, None])
                if args.bug == "sample_ratio":
                    loss = (losses * mask).sum() / mask.sum() * (words.size(0) / text.size(0))  # place sample_ratio
                else:
                    loss = (losses * mask).sum() / tokens * args.dp
                if args.bug == "divided_twice":
                    loss = loss / MICRO  # place divided_twice
                loss.backward()
        optimizer.step()
    return model


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
