"""A small policy writes answers that end; rewards of groups of four are compared; words after the end do not count."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=5e-3)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
PAD, END, WORDS, LONGEST, GROUP = 0, 1, 10, 12, 4


class Policy(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.embed = nn.Embedding(WORDS, width, padding_idx=PAD)
        self.rnn, self.head = nn.GRU(width, width, batch_first=True), nn.Linear(width, WORDS)

    def forward(self, words):
        logits = self.head(self.rnn(self.embed(words))[0])
        return logits.index_fill(-1, torch.tensor([PAD]), -1e9)


@torch.no_grad()
def write(policy, prompts):
    words = prompts
    for _ in range(LONGEST):
        words = torch.cat([words, torch.multinomial(policy(words)[:, -1].softmax(-1), 1)], 1)
    return words[:, prompts.shape[1]:]


def cut_after_end(answers):
    ended = (answers == END).int().cumsum(1)
    after = (ended - (answers == END).int()) > 0
    return answers.masked_fill(after, PAD)


def reward(prompts, answers):
    return (answers == prompts).float().sum(1) - 0.2 * (answers != PAD).sum(1)


torch.manual_seed(args.seed)
torch.set_num_threads(1)
policy = Policy()
optimizer = torch.optim.AdamW(policy.parameters(), lr=args.lr)
counted = []
for step in range(args.steps):
    prompts = torch.randint(2, WORDS, (12, 1)).repeat_interleave(GROUP, 0)
    answers = cut_after_end(write(policy, prompts))
    mask = (answers != PAD).float()
    rewards = reward(prompts, answers)
    group = rewards.view(-1, GROUP)
    advantage = ((group - group.mean(1, keepdim=True)) / (group.std(1, keepdim=True) + 1e-4)).view(-1, 1)
    logits = policy(torch.cat([prompts, answers[:, :-1]], 1))
    logp = logits.log_softmax(-1).gather(2, answers.unsqueeze(2)).squeeze(2)
    loss = -((logp * advantage * mask).sum(1) / mask.sum(1)).mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
    optimizer.step()
    ends = (answers == END).int()
    true_length = torch.where(ends.any(1), ends.argmax(1) + 1, torch.tensor(LONGEST))
    counted.append((mask.sum(1) / true_length).mean().item())
    if step % 15 == 14:
        print(f"step {step}: reward {rewards.mean().item():.3f}, length {true_length.float().mean().item():.1f}")
print(f"EVIDENCE {sum(counted) / len(counted):.3f} times the words up to the end are counted")

# SPDX-License-Identifier: Apache-2.0
