"""Group-relative policy optimisation of a small recurrent policy on a sorting task."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

DIGITS, LENGTH = 6, 4
BOS = DIGITS


class Policy(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.embed = nn.Embedding(DIGITS + 1, dim)
        self.encoder = nn.GRU(dim, dim, batch_first=True)
        self.cell = nn.GRUCell(dim, dim)
        self.out = nn.Linear(2 * dim, DIGITS)

    def encode(self, prompts):
        _, h = self.encoder(self.embed(prompts))
        bag = self.embed(prompts).mean(1)
        return h[0], bag

    def step(self, token, h, bag):
        h = self.cell(self.embed(token), h)
        return self.out(torch.cat([h, bag], -1)), h

    @torch.no_grad()
    def generate(self, prompts):
        h, bag = self.encode(prompts)
        token = torch.full((len(prompts),), BOS)
        tokens = []
        for _ in range(LENGTH):
            logits, h = self.step(token, h, bag)
            token = torch.multinomial(logits.softmax(-1), 1)[:, 0]
            tokens.append(token)
        return torch.stack(tokens, 1)

    def logprobs(self, prompts, completions):
        h, bag = self.encode(prompts)
        token = torch.full((len(prompts),), BOS)
        result = []
        for t in range(LENGTH):
            logits, h = self.step(token, h, bag)
            token = completions[:, t]
            result.append(logits.log_softmax(-1).gather(1, token[:, None])[:, 0])
        return torch.stack(result, 1)


def reward_fn(prompts, completions):
    target = prompts.sort(1).values
    return (target == completions).float().mean(1)


def grpo_step(policy, ref, opt, prompts, num_generations, beta):
    prompts = prompts.repeat_interleave(num_generations, dim=0)
    completions = policy.generate(prompts)
    rewards = reward_fn(prompts, completions)

    grouped = rewards.view(-1, num_generations)
    mean = grouped.mean(1).repeat_interleave(num_generations)
    std = grouped.std(1).repeat_interleave(num_generations)
    advantages = (rewards - mean) / (std + 1e-4)

    logps = policy.logprobs(prompts, completions)
    with torch.no_grad():
        ref_logps = ref.logprobs(prompts, completions)
    kl = torch.exp(ref_logps - logps) - (ref_logps - logps) - 1
    ratio = torch.exp(logps - logps.detach())
    loss = -(ratio * advantages[:, None] - beta * kl).mean()

    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
    opt.step()
    return loss.item(), rewards.mean().item(), kl.mean().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=120)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)

    policy, ref = Policy(), Policy()
    ref.load_state_dict(policy.state_dict())
    ref.requires_grad_(False)
    opt = torch.optim.Adam(policy.parameters(), lr=4e-3)
    sup = torch.randint(0, DIGITS, (64, LENGTH))
    for _ in range(10):
        warm = -policy.logprobs(sup, sup.sort(1).values).mean()
        opt.zero_grad()
        warm.backward()
        opt.step()
    ref.load_state_dict(policy.state_dict())
    print(f"warm start loss {warm.item():.6f}")

    for step in range(args.steps):
        prompts = torch.randint(0, DIGITS, (16, LENGTH))
        loss, reward, kl = grpo_step(policy, ref, opt, prompts, 8, 0.02)
        if step % 20 == 0 or step == args.steps - 1:
            print(f"step {step} loss {loss:.6f} reward {reward:.4f} kl {kl:.6f}")


if __name__ == "__main__":
    main()
