"""DAPO: groups whose answers are all right or all wrong are thrown away and drawn anew; ratios may rise more than fall."""
import argparse

import torch
import torch.nn as nn

DIGITS, LENGTH = 10, 3


class Policy(nn.Module):
    """Writes the digits of a prompt turned round, all at once."""

    def __init__(self, width=64):
        super().__init__()
        self.embed = nn.Embedding(DIGITS, 16)
        self.body = nn.Sequential(nn.Linear(LENGTH * 16, width), nn.ReLU(), nn.Linear(width, LENGTH * DIGITS))

    def forward(self, prompts):
        return torch.distributions.Categorical(logits=self.body(self.embed(prompts).flatten(1)).view(-1, LENGTH, DIGITS))


def reward_fn(prompts, answers):
    return (answers == prompts.flip(1)).float().mean(1)


@torch.no_grad()
def fill_batch(policy, groups, attempts, most_rounds=4):
    """Goes on drawing until there are enough groups that teach something, or the patience is at its end."""
    kept, drawn = [], 0
    for _ in range(most_rounds):
        prompts = torch.randint(0, DIGITS, (groups, LENGTH)).repeat_interleave(attempts, 0)
        dist = policy(prompts)
        answers = dist.sample()
        rewards = reward_fn(prompts, answers).view(groups, attempts)
        logps = dist.log_prob(answers)
        drawn += groups
        for g in (rewards.std(1) > 0).nonzero().flatten().tolist():
            rows = slice(g * attempts, (g + 1) * attempts)
            advantage = (rewards[g] - rewards[g].mean()) / rewards[g].std()
            kept.append((prompts[rows], answers[rows], logps[rows], advantage))
        if len(kept) >= groups:
            break
    kept = kept[:groups]
    return [torch.cat(column) for column in zip(*kept)] if kept else None, len(kept), drawn


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=100)
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    policy = Policy()
    optimizer = torch.optim.AdamW(policy.parameters(), lr=args.lr)
    for step in range(args.steps):
        batch, kept, drawn = fill_batch(policy, groups=12, attempts=6)
        if batch is None:                         # nothing left to learn from
            continue
        prompts, answers, old, advantage = batch
        for _ in range(2):
            ratio = (policy(prompts).log_prob(answers) - old).exp()
            advantages = advantage[:, None]
            loss = -torch.min(ratio * advantages, ratio.clamp(1 - 0.2, 1 + 0.28) * advantages).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if step % 25 == 24:
            prompts = torch.randint(0, DIGITS, (256, LENGTH))
            print(f"step {step + 1} kept {kept} of {drawn} groups, reward {reward_fn(prompts, policy(prompts).probs.argmax(-1)).mean():.3f}")


if __name__ == "__main__":
    main()
