"""Group-relative policy optimisation of short answers; some rollouts fail and leave their group smaller."""
import argparse
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn

PROMPTS, LENGTH, WORDS = 12, 4, 6


@dataclass
class Args:
    seed: int = 0
    lr: float = 0.01
    steps: int = 220
    n_samples: int = 6
    prompts_per_step: int = 8
    failing: float = 0.12


class Policy(nn.Module):
    """The word at each place of the answer depends on the prompt and the place."""

    def __init__(self, width=32):
        super().__init__()
        self.prompt, self.place = nn.Embedding(PROMPTS, width), nn.Embedding(LENGTH, width)
        self.head = nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.Linear(width, WORDS))

    def forward(self, prompts):
        return self.head(self.prompt(prompts)[:, None] + self.place(torch.arange(LENGTH)))


class GroupedRollout:
    """Runs `n_samples` episodes of each prompt and keeps those that came back."""

    def __init__(self, args):
        self.args = args
        self.answers = torch.randint(WORDS, (PROMPTS, LENGTH))
        self.offsets = 3.0 * torch.randn(PROMPTS)

    def reward(self, prompts, answers):
        return (answers == self.answers[prompts]).float().sum(1) + self.offsets[prompts]

    @torch.no_grad()
    def collect(self, policy):
        prompts, sizes = [], []
        for prompt in torch.randperm(PROMPTS)[:self.args.prompts_per_step].tolist():
            survivors = int((torch.rand(self.args.n_samples) > self.args.failing).sum())
            if survivors < 2:
                continue
            prompts += [prompt] * survivors
            sizes.append(survivors)
        prompts = torch.tensor(prompts)
        answers = torch.distributions.Categorical(logits=policy(prompts)).sample()
        return prompts, answers, self.reward(prompts, answers), sizes


def normalise(rewards, sizes, n_samples):
    parts = rewards.split(sizes)
    return torch.cat([(part - part.mean()) / (part.std(correction=0) + 1e-4) for part in parts])


def main(args):
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    rollout, policy = GroupedRollout(args), Policy()
    optimizer = torch.optim.Adam(policy.parameters(), lr=args.lr)
    bias = 0.0
    for step in range(args.steps):
        prompts, answers, rewards, sizes = rollout.collect(policy)
        advantages = normalise(rewards, sizes, args.n_samples)
        of_group = torch.zeros(PROMPTS).index_add_(0, prompts, advantages).abs().sum() / len(sizes)
        bias += of_group.item() / args.steps
        log_probs = F.log_softmax(policy(prompts), -1).gather(2, answers[..., None]).squeeze(2)
        ratio = (log_probs - log_probs.detach()).exp()
        loss = -(ratio * advantages[:, None]).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimizer.step()
        if step % 40 == 39:
            print(f"step {step + 1}: reward {(rewards - rollout.offsets[prompts]).mean().item():.3f} of {LENGTH}")
    with torch.no_grad():
        best = policy(torch.arange(PROMPTS)).argmax(-1)
    right = (best == rollout.answers).float().mean().item()
    print(f"EVIDENCE advantages of a prompt add up to {bias:.4f}; right words {right:.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("seed", "lr", "steps"):
        parser.add_argument(f"--{name}", type=type(getattr(Args, name)), default=getattr(Args, name))
    main(Args(**vars(parser.parse_args())))

# SPDX-License-Identifier: Apache-2.0
