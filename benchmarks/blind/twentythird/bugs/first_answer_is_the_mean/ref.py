"""GRPO on a toy of arithmetic: groups of answers to one question, rewards normalised within their group."""
import argparse
from collections import defaultdict
from dataclasses import dataclass

import torch
import torch.nn as nn

DIGITS, PLUS, MINUS, EQ = 10, 10, 11, 12
VOCAB = 13


@dataclass
class Rollout:
    group: int
    prompt: torch.Tensor
    answer: torch.Tensor
    logps: torch.Tensor
    reward: float
    advantage: float = 0.0


class Policy(nn.Module):
    """Reads a question of four tokens and writes an answer of two digits."""

    def __init__(self, width=64):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, 16)
        self.read = nn.Sequential(nn.Linear(4 * 16, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.first = nn.Linear(width, DIGITS)
        self.second = nn.Linear(width + 16, DIGITS)

    def distributions(self, prompts, first=None):
        h = self.read(self.embed(prompts).flatten(1))
        one = torch.distributions.Categorical(logits=self.first(h))
        first = one.sample() if first is None else first
        two = torch.distributions.Categorical(logits=self.second(torch.cat([h, self.embed(first)], 1)))
        return one, two, first

    def logprobs(self, prompts, answers):
        one, two, _ = self.distributions(prompts, answers[:, 0])
        return torch.stack([one.log_prob(answers[:, 0]), two.log_prob(answers[:, 1])], 1), one.entropy() + two.entropy()


def questions(n, gen):
    a, b = torch.randint(0, 10, (2, n), generator=gen)
    sign = torch.where(torch.rand(n, generator=gen) < 0.5, PLUS, MINUS)
    truth = torch.where(sign == PLUS, a + b, (a - b).abs())
    return torch.stack([a, sign, b, torch.full((n,), EQ)], 1), truth


def reward_of(answers, truth):
    """Full marks for the truth, partial ones for each digit in its place."""
    tens, units = truth // 10, truth % 10
    return 0.5 * (answers[:, 0] == tens) + 0.5 * (answers[:, 1] == units) + 1.0 * ((answers[:, 0] == tens) & (answers[:, 1] == units))


@torch.no_grad()
def make_rollouts(policy, n_groups, attempts, gen):
    prompts, truth = questions(n_groups, gen)
    prompts, truth = prompts.repeat_interleave(attempts, 0), truth.repeat_interleave(attempts)
    one, two, first = policy.distributions(prompts)
    answers = torch.stack([first, two.sample()], 1)
    logps = torch.stack([one.log_prob(first), two.log_prob(answers[:, 1])], 1)
    rewards = reward_of(answers, truth)
    return [Rollout(i // attempts, prompts[i], answers[i], logps[i], rewards[i].item()) for i in range(len(prompts))]


def populate_advantages(rollouts):
    groups = defaultdict(list)
    for rollout in rollouts:
        groups[rollout.group].append(rollout)
    for group in groups.values():
        rewards = torch.tensor([r.reward for r in group])
        mean, std = rewards.mean().item(), rewards.std(unbiased=False).item()
        for rollout in group:
            rollout.advantage = (rollout.reward - mean) / (std + 1e-4)
    return rollouts


def policy_loss(policy, rollouts, clip=0.2, entropy_bonus=0.01):
    prompts, answers = (torch.stack([getattr(r, k) for r in rollouts]) for k in ("prompt", "answer"))
    old = torch.stack([r.logps for r in rollouts])
    advantages = torch.tensor([r.advantage for r in rollouts])[:, None]
    new, entropy = policy.logprobs(prompts, answers)
    ratio = (new - old).exp()
    surrogate = torch.min(ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages)
    return -surrogate.mean() - entropy_bonus * entropy.mean()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=120)
    ap.add_argument("--attempts", type=int, default=8)
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    policy = Policy()
    optimizer = torch.optim.Adam(policy.parameters(), lr=args.lr)
    curve, spread = [], []
    for step in range(args.steps):
        rollouts = populate_advantages(make_rollouts(policy, 24, args.attempts, gen))
        for _ in range(2):
            loss = policy_loss(policy, rollouts)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
            optimizer.step()
        curve.append(sum(r.reward for r in rollouts) / len(rollouts))
        spread.append(sum(r.advantage for r in rollouts) / len(rollouts))
        if step % 30 == 29:
            print(f"step {step + 1} reward {curve[-1]:.3f} advantage {spread[-1]:+.3f}")
    print(f"EVIDENCE reward={sum(curve[-10:]) / 10:.3f} largest_mean_advantage={max(map(abs, spread)):.4f}")


if __name__ == "__main__":
    main()
