"""Group training for pass@k: only the best answer of each group gets an advantage, its lead over the second best."""
import argparse
from collections import defaultdict

import torch
import torch.nn as nn

PROMPTS, VOCAB, LENGTH, N = 12, 10, 4, 8


class AnswerPolicy(nn.Module):
    def __init__(self, dim=40):
        super().__init__()
        self.prompt, self.token = nn.Embedding(PROMPTS, dim), nn.Embedding(VOCAB + 1, dim)
        self.rnn, self.head = nn.GRU(dim, dim, batch_first=True), nn.Linear(dim, VOCAB)

    def logits(self, prompts, tokens):
        start = torch.full((len(tokens), 1), VOCAB)
        return self.head(self.rnn(self.token(torch.cat([start, tokens], 1)), self.prompt(prompts)[None])[0])

    @torch.no_grad()
    def generate(self, prompts):
        tokens = torch.zeros(len(prompts), 0, dtype=torch.long)
        for _ in range(LENGTH):
            probs = self.logits(prompts, tokens)[:, -1].softmax(-1)
            tokens = torch.cat([tokens, torch.multinomial(probs, 1)], 1)
        lengths = 1 + (tokens[:, 0] % 2) + torch.full((len(tokens),), LENGTH - 2)
        mask = (torch.arange(LENGTH) < lengths[:, None]).float()
        return tokens, mask

    def logps(self, prompts, tokens):
        return self.logits(prompts, tokens)[:, :-1].log_softmax(-1).gather(2, tokens[:, :, None]).squeeze(2)


def token_level_rewards(prompts, tokens, mask):
    """The score of an answer lies on its last token: how near its tokens are to those of the prompt, minus one half."""
    distance = (tokens - (prompts[:, None] + torch.arange(LENGTH)) % VOCAB).abs()
    score = ((1 - distance / VOCAB) * mask).sum(1) / mask.sum(1) - 0.5
    rewards = torch.zeros_like(mask)
    rewards[torch.arange(len(mask)), mask.sum(1).long() - 1] = score
    return rewards


def compute_grpo_passk_outcome_advantage(rewards, response_mask, index):
    scores = rewards.sum(dim=-1)
    advantages = torch.zeros_like(scores)
    members = defaultdict(list)
    for i, key in enumerate(index):
        members[key].append(i)
    for rows in members.values():
        group = scores[rows]
        top = group.topk(2)
        winner = rows[int(top.indices[0])]
        advantages[winner] = top.values[0] - top.values[1]
    return advantages[:, None] * response_mask


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=1e-2)
    parser.add_argument("--steps", type=int, default=40)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    policy = AnswerPolicy()
    optimizer = torch.optim.Adam(policy.parameters(), lr=args.lr)
    touched, best = [], []
    for step in range(args.steps):
        chosen = torch.randperm(PROMPTS)[:8]
        prompts = chosen.repeat_interleave(N)
        tokens, mask = policy.generate(prompts)
        rewards = token_level_rewards(prompts, tokens, mask)
        advantages = compute_grpo_passk_outcome_advantage(rewards, mask, prompts.tolist())
        loss = -(policy.logps(prompts, tokens) * advantages * mask).sum() / mask.sum()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimizer.step()
        touched.append((advantages.abs().sum(1) > 1e-9).float().mean().item() * N)
        best.append(rewards.sum(1).view(-1, N).max(1).values.mean().item())
        if step % 8 == 0:
            print(f"step {step} best_of_{N} {best[-1]:.4f} loss {loss.item():.4f}")
    with torch.no_grad():
        probs = policy.logits(torch.arange(PROMPTS), torch.zeros(PROMPTS, 0, dtype=torch.long))[:, -1].softmax(-1)
        entropy = -(probs * probs.clamp(min=1e-9).log()).sum(-1).mean().item()
    print(f"EVIDENCE rewarded_per_group={sum(touched) / len(touched):.3f} first_token_entropy={entropy:.4f} best_of_n={sum(best[-8:]) / 8:.4f}")


if __name__ == "__main__":
    main()
