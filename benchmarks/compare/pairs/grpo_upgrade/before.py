"""Group-relative policy optimization of a tiny generator of number words."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, BOS, EOS, MAX_LEN = 12, 0, 1, 16


# --- copied by hand from minitrl 0.15 ---------------------------------------
def grpo_loss(logps, old_logps, advantages, completion_mask, clip=0.2):
    ratio = torch.exp(logps - old_logps)
    clipped = ratio.clamp(1 - clip, 1 + clip)
    adv = advantages.unsqueeze(1)
    per_token_loss = -torch.min(ratio * adv, clipped * adv)
    loss = ((per_token_loss * completion_mask).sum(dim=1) / completion_mask.sum(dim=1)).mean()
    return loss


def group_advantages(rewards, num_generations):
    grouped = rewards.view(-1, num_generations)
    mean = grouped.mean(dim=1, keepdim=True)
    std = grouped.std(dim=1, keepdim=True)
    return ((grouped - mean) / (std + 1e-4)).view(-1)
# ----------------------------------------------------------------------------


class Policy(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.cell = nn.GRUCell(dim, dim)
        self.out = nn.Linear(dim, VOCAB)

    def step(self, token, hidden):
        hidden = self.cell(self.embed(token), hidden)
        return self.out(hidden), hidden

    def logps(self, prompts, completions):
        hidden = self.start(prompts)
        token = prompts
        out = []
        for t in range(completions.size(1)):
            logits, hidden = self.step(token, hidden)
            token = completions[:, t]
            out.append(F.log_softmax(logits, -1).gather(1, token.unsqueeze(1)))
        return torch.cat(out, dim=1)

    def start(self, prompts):
        return torch.zeros(len(prompts), self.cell.hidden_size)


@torch.no_grad()
def generate(policy, prompts, generator):
    hidden, token = policy.start(prompts), prompts
    tokens = []
    for _ in range(MAX_LEN):
        logits, hidden = policy.step(token, hidden)
        token = torch.multinomial(logits.softmax(-1), 1, generator=generator).squeeze(1)
        tokens.append(token)
    completions = torch.stack(tokens, dim=1)
    ended = (completions == EOS).long().cumsum(1)
    mask = ((ended - (completions == EOS).long()) == 0).float()
    return completions, mask


def reward_fn(prompts, completions, mask):
    """Share of the prompt's token in the completion, minus a price for length."""
    hits = ((completions == prompts.unsqueeze(1)).float() * mask).sum(1)
    return hits / mask.sum(1) + 0.5 * (hits > 2).float() - 0.02 * mask.sum(1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--prompts", type=int, default=8)
    parser.add_argument("--num-generations", type=int, default=8)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    policy = Policy()
    optimizer = torch.optim.AdamW(policy.parameters(), lr=5e-3)
    for step in range(args.steps):
        prompts = torch.randint(2, VOCAB, (args.prompts,), generator=generator)
        prompts = prompts.repeat_interleave(args.num_generations)
        completions, mask = generate(policy, prompts, generator)
        rewards = reward_fn(prompts, completions, mask)
        advantages = group_advantages(rewards, args.num_generations)
        old_logps = policy.logps(prompts, completions).detach()
        for _ in range(2):
            loss = grpo_loss(policy.logps(prompts, completions), old_logps, advantages, mask)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
            optimizer.step()
        if step % 6 == 0 or step == args.steps - 1:
            print(f"step {step} loss {loss.item():.6f} reward {rewards.mean().item():.4f} "
                  f"length {mask.sum(1).mean().item():.2f}")
    print(f"weight sum {sum(p.double().sum().item() for p in policy.parameters()):.10f}")


if __name__ == "__main__":
    main()
