"""GRPO on a tiny policy: the model writes short completions, a rule based reward scores them."""
import argparse
import copy

import torch
from torch import nn
import torch.nn.functional as F

N_PROMPTS = 12
TOKENS = 10
LENGTH = 5


class Policy(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.prompt_embed = nn.Embedding(N_PROMPTS, dim)
        self.token_embed = nn.Embedding(TOKENS + 1, dim)
        self.step_embed = nn.Embedding(LENGTH, dim)
        self.cell = nn.GRUCell(2 * dim, dim)
        self.head = nn.Linear(dim, TOKENS)

    def step(self, token, position, prompt, h):
        ctx = self.step_embed.weight[position].expand(token.size(0), -1)
        h = self.cell(torch.cat([self.token_embed(token) + ctx, self.prompt_embed(prompt)], -1), h)
        return self.head(h), h

    @torch.no_grad()
    def generate(self, prompt, gen=None):
        h = self.prompt_embed(prompt)
        token = torch.full_like(prompt, TOKENS)
        out = []
        for i in range(LENGTH):
            logits, h = self.step(token, i, prompt, h)
            if gen is None:
                token = logits.argmax(-1)
            else:
                token = torch.multinomial(logits.softmax(-1), 1, generator=gen).squeeze(1)
            out.append(token)
        return torch.stack(out, 1)

    def token_logps(self, prompt, completion):
        h = self.prompt_embed(prompt)
        token = torch.full_like(prompt, TOKENS)
        logps = []
        for i in range(LENGTH):
            logits, h = self.step(token, i, prompt, h)
            token = completion[:, i]
            logps.append(logits.log_softmax(-1).gather(1, token[:, None]))
        return torch.cat(logps, 1)


class Verifier:
    """Share of right tokens, plus a bonus that differs from prompt to prompt."""

    def __init__(self):
        gen = torch.Generator().manual_seed(5)
        self.answer = torch.randint(TOKENS, (N_PROMPTS, LENGTH), generator=gen)
        self.bonus = torch.linspace(0, 4, N_PROMPTS)[torch.randperm(N_PROMPTS, generator=gen)]

    def __call__(self, prompt, completion):
        return (completion == self.answer[prompt]).float().mean(1) + self.bonus[prompt]

    def accuracy(self, prompt, completion):
        return (completion == self.answer[prompt]).float().mean().item()


def rollout(policy, prompts, group, gen):
    expanded = prompts.repeat_interleave(group)
    completions = policy.generate(expanded, gen)
    return expanded, completions


def group_advantages(rewards, group):
    grouped = rewards.view(-1, group)
    mean = grouped.mean(1, keepdim=True)
    std = grouped.std(1, keepdim=True)
    return ((grouped - mean) / (std + 1e-4)).view(-1)


def grpo_loss(policy, reference, old_logps, prompt, completion, advantages, clip=0.2, beta=0.01):
    logps = policy.token_logps(prompt, completion)
    with torch.no_grad():
        ref_logps = reference.token_logps(prompt, completion)
    ratio = (logps - old_logps).exp()
    adv = advantages[:, None]
    surrogate = torch.min(ratio * adv, ratio.clamp(1 - clip, 1 + clip) * adv)
    diff = ref_logps - logps
    kl = diff.exp() - diff - 1
    return -(surrogate - beta * kl).mean()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--steps", type=int, default=100)
    ap.add_argument("--group", type=int, default=8)
    ap.add_argument("--prompts", type=int, default=8)
    ap.add_argument("--inner", type=int, default=2)
    args = ap.parse_args()

    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    verifier = Verifier()
    policy = Policy()
    reference = copy.deepcopy(policy).requires_grad_(False)
    optimizer = torch.optim.Adam(policy.parameters(), lr=args.lr)
    everything = torch.arange(N_PROMPTS)

    for step in range(args.steps):
        prompts = torch.randperm(N_PROMPTS, generator=gen)[: args.prompts]
        prompt, completion = rollout(policy, prompts, args.group, gen)
        rewards = verifier(prompt, completion)
        advantages = group_advantages(rewards, args.group)
        with torch.no_grad():
            old_logps = policy.token_logps(prompt, completion)
        for _ in range(args.inner):
            loss = grpo_loss(policy, reference, old_logps, prompt, completion, advantages)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
            optimizer.step()
        if step % 20 == 0:
            print(f"step {step} reward {rewards.mean().item():.3f} loss {loss.item():+.4f}")
    greedy = verifier.accuracy(everything, policy.generate(everything))
    print(f"EVIDENCE greedy_token_accuracy={greedy:.3f}")


if __name__ == "__main__":
    main()
