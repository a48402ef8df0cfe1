"""GRPO on a small arithmetic language: the policy reads `op a b` and writes a two digit answer."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB = 14            # 0..9 digits, 10..12 operators, 13 = start of answer
BOS = 13
POINTS = torch.tensor([1.0, 3.0, 9.0])


class Policy(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, dim)
        self.pos = nn.Parameter(torch.randn(3, dim) * 0.1)
        self.enc = nn.Sequential(nn.Linear(3 * dim, 128), nn.GELU(), nn.Linear(128, dim))
        self.cell = nn.GRUCell(dim, dim)
        self.head = nn.Linear(dim, 10)

    def encode(self, prompts):
        x = self.emb(prompts) + self.pos
        return torch.tanh(self.enc(x.flatten(1)))

    @torch.no_grad()
    def generate(self, prompts, greedy=False):
        h = self.encode(prompts)
        tok = torch.full((len(prompts),), BOS)
        out = []
        for _ in range(2):
            h = self.cell(self.emb(tok), h)
            logits = self.head(h)
            tok = logits.argmax(-1) if greedy else torch.distributions.Categorical(logits=logits).sample()
            out.append(tok)
        return torch.stack(out, 1)

    def logps(self, prompts, completions):
        h = self.encode(prompts)
        tok = torch.full((len(prompts),), BOS)
        cols = []
        for t in range(2):
            h = self.cell(self.emb(tok), h)
            lp = F.log_softmax(self.head(h), -1)
            tok = completions[:, t]
            cols.append(lp.gather(1, tok[:, None]).squeeze(1))
        return torch.stack(cols, 1)


def make_prompts(n, gen):
    op = torch.randint(0, 3, (n, 1), generator=gen)
    ab = torch.randint(0, 10, (n, 2), generator=gen)
    return torch.cat([op + 10, ab], 1)


def solve(prompts):
    op, a, b = prompts[:, 0] - 10, prompts[:, 1], prompts[:, 2]
    first = torch.where(op == 0, a, torch.where(op == 1, torch.maximum(a, b), b))
    second = torch.where(op == 0, b, torch.where(op == 1, torch.minimum(a, b), b))
    return torch.stack([first, second], 1)


def reward_fn(prompts, completions):
    """Harder operators are worth more points."""
    frac = (completions == solve(prompts)).float().mean(1)
    return frac * POINTS[prompts[:, 0] - 10]


def group_advantages(rewards, num_generations, eps=1e-4):
    grouped = rewards.view(-1, num_generations)
    mean = grouped.mean(dim=1).repeat_interleave(num_generations, dim=0)
    std = grouped.std(dim=1).repeat_interleave(num_generations, dim=0)
    return (rewards - mean) / (std + eps)


def grpo_loss(policy, prompts, completions, old_logps, advantages, clip=0.2):
    logps = policy.logps(prompts, completions)
    ratio = torch.exp(logps - old_logps)
    adv = advantages[:, None]
    per_token = -torch.min(ratio * adv, ratio.clamp(1 - clip, 1 + clip) * adv)
    return per_token.mean()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=90)
    ap.add_argument("--prompts", type=int, default=64)
    ap.add_argument("--num-generations", type=int, default=8)
    ap.add_argument("--inner", type=int, default=4)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed + 1)

    policy = Policy()
    opt = torch.optim.Adam(policy.parameters(), lr=args.lr)

    for step in range(args.steps):
        prompts = make_prompts(args.prompts, gen)
        prompts = prompts.repeat_interleave(args.num_generations, dim=0)
        completions = policy.generate(prompts)
        rewards = reward_fn(prompts, completions)
        advantages = group_advantages(rewards, args.num_generations)
        with torch.no_grad():
            old_logps = policy.logps(prompts, completions)
        for _ in range(args.inner):
            loss = grpo_loss(policy, prompts, completions, old_logps, advantages)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
            opt.step()
        if step % 20 == 0 or step == args.steps - 1:
            print(f"step {step:4d} loss {loss.item():+.4f} reward {rewards.mean().item():.3f}")

    test = make_prompts(2000, torch.Generator().manual_seed(12345))
    hits = (policy.generate(test, greedy=True) == solve(test)).float()
    acc = [hits[test[:, 0] == 10 + k].mean().item() for k in range(3)]
    print(f"EVIDENCE digit_acc={hits.mean().item():.4f} per_op={acc[0]:.3f}/{acc[1]:.3f}/{acc[2]:.3f}")


if __name__ == "__main__":
    main()
