"""GRPO on a toy writer: groups of answers for each prompt, some fail to come back, some are too long and masked out."""
import argparse

import torch
import torch.nn as nn

SYMBOLS, END, PROMPTS, GROUP, LIMIT = 8, 7, 6, 8, 8


class Writer(nn.Module):
    def __init__(self, width=40):
        super().__init__()
        self.width = width
        self.prompt, self.token = nn.Embedding(PROMPTS, width), nn.Embedding(SYMBOLS + 1, width)
        self.cell, self.head = nn.GRUCell(width, width), nn.Linear(width, SYMBOLS)

    def logits(self, prompts, tokens):
        """Logits of each token of an answer, from the prompt and the tokens before it."""
        state, out = self.prompt(prompts), []
        last = torch.full_like(prompts, SYMBOLS)
        for t in range(tokens.shape[1]):
            state = self.cell(self.token(last), state)
            out.append(self.head(state))
            last = tokens[:, t]
        return torch.stack(out, dim=1)

    @torch.no_grad()
    def sample(self, prompts):
        state, last, tokens, logps = self.prompt(prompts), torch.full_like(prompts, SYMBOLS), [], []
        done = torch.zeros_like(prompts, dtype=torch.bool)
        for _ in range(LIMIT):
            state = self.cell(self.token(last), state)
            dist = torch.distributions.Categorical(logits=self.head(state))
            last = torch.where(done, END, dist.sample())
            logps.append(dist.log_prob(last))
            tokens.append(last)
            done = done | (last == END)
        return torch.stack(tokens, 1), torch.stack(logps, 1), done


def completion_mask(tokens):
    ended = (tokens == END).cumsum(1)
    return ((ended == 0) | ((ended == 1) & (tokens == END))).float()


def reward(prompts, tokens):
    """A share of letters equal to the prompt's own; prompts differ in how much an answer is worth."""
    mask = completion_mask(tokens) * (tokens != END)
    hits = ((tokens == prompts[:, None]) * mask).sum(1) / mask.sum(1).clamp(min=1)
    return hits * (1 + prompts.float()) + 2.0 * prompts


def group_advantages(rewards, group_ids, valid, eps=1e-4):
    """Mean and spread are those of the valid answers of the same prompt."""
    advantages = torch.zeros_like(rewards)
    for group in group_ids.unique():
        rows = (group_ids == group) & valid
        if rows.sum() > 1:
            advantages[rows] = (rewards[rows] - rewards[rows].mean()) / (rewards[rows].std() + eps)
    return advantages


def rollout(policy, gen):
    prompts = torch.randperm(PROMPTS, generator=gen)[:4].repeat_interleave(GROUP)
    tokens, logps, finished = policy.sample(prompts)
    arrived = torch.rand(len(prompts), generator=gen) > 0.15
    prompts, tokens, logps, finished = prompts[arrived], tokens[arrived], logps[arrived], finished[arrived]
    scores = reward(prompts, tokens)
    scores[~finished] = 0.0
    return {"prompts": prompts, "tokens": tokens, "old_logps": logps, "rewards": scores,
            "mask": completion_mask(tokens) * finished[:, None], "finished": finished}


def policy_loss(policy, batch, advantages, clip=0.2):
    logps = policy.logits(batch["prompts"], batch["tokens"]).log_softmax(-1).gather(2, batch["tokens"][..., None]).squeeze(2)
    ratio = (logps - batch["old_logps"]).exp()
    gain = torch.minimum(ratio * advantages[:, None], ratio.clamp(1 - clip, 1 + clip) * advantages[:, None])
    return -(gain * batch["mask"]).sum() / batch["mask"].sum().clamp(min=1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=8e-3)
    ap.add_argument("--steps", type=int, default=60)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed + 9)
    policy = Writer()
    optimizer = torch.optim.Adam(policy.parameters(), lr=args.lr)
    group_mean = spread = 0.0
    for step in range(args.steps):
        batch = rollout(policy, gen)
        advantages = group_advantages(batch["rewards"], batch["prompts"], batch["finished"])
        for _ in range(2):
            loss = policy_loss(policy, batch, advantages)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
            optimizer.step()
        for group in batch["prompts"].unique():
            rows = (batch["prompts"] == group) & batch["finished"]
            if rows.sum() > 1:
                group_mean += advantages[rows].mean().abs().item() / (4 * args.steps)
                spread += advantages[rows].std().item() / (4 * args.steps)
        if step % 20 == 19:
            print(f"step {step + 1} reward {batch['rewards'].mean().item():.3f}")
    prompts = torch.arange(PROMPTS).repeat(40)
    tokens, _, finished = policy.sample(prompts)
    hits = (reward(prompts, tokens) - 2.0 * prompts) / (1 + prompts)
    print(f"EVIDENCE advantage_of_group={group_mean:.4f} spread={spread:.4f} "
          f"hits={(hits * finished).mean().item():.3f} finished={finished.float().mean().item():.3f}")


if __name__ == "__main__":
    main()
