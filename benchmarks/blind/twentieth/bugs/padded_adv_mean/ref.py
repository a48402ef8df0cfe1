"""REINFORCE++ on a writer of short telegrams: rows end at STOP, the rest of a row is padding."""
import argparse

import torch
from torch import nn

TOKENS, STOP, WIDTH = 12, 0, 24


class Writer(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.embed = nn.Embedding(TOKENS + 1, dim)
        self.cell = nn.GRU(dim, dim, batch_first=True)
        self.policy_head = nn.Linear(dim, TOKENS)

    def forward(self, tokens, state=None):
        h, state = self.cell(self.embed(tokens), state)
        return self.policy_head(h), state

    def evaluate(self, tokens):
        start = torch.full_like(tokens[:, :1], TOKENS)
        logits, _ = self(torch.cat([start, tokens[:, :-1]], 1))
        logps = logits.log_softmax(-1)
        entropy = -(logps.exp() * logps).sum(-1)
        return logps.gather(-1, tokens[..., None]).squeeze(-1), entropy


@torch.no_grad()
def write(model, n, gen):
    token = torch.full((n, 1), TOKENS)
    state, out, alive, mask = None, [], torch.ones(n), []
    for _ in range(WIDTH):
        logits, state = model(token, state)
        token = torch.multinomial(logits[:, -1].softmax(-1), 1, generator=gen)
        mask.append(alive.clone())
        out.append(torch.where(alive[:, None] > 0, token, torch.zeros_like(token)))
        alive = alive * (token.squeeze(1) != STOP)
    return torch.cat(out, 1), torch.stack(mask, 1)


def telegram_reward(tokens, mask):
    """Paid for an end and for each rising pair of words, with a fee for each word."""
    rising = (tokens[:, 1:] == tokens[:, :-1] + 1).float() * mask[:, 1:]
    per_token = torch.zeros_like(mask)
    per_token[:, 1:] = rising
    return 0.3 * per_token - 0.2 * mask + 3.0 * mask * (tokens == STOP)


def reward_to_go(rewards, mask, gamma=0.99):
    out, running = torch.zeros_like(rewards), torch.zeros(rewards.size(0))
    for t in reversed(range(WIDTH)):
        running = (rewards[:, t] + gamma * running) * mask[:, t]
        out[:, t] = running
    return out


def normalize_advantages(advantages, response_mask):
    num_actions = response_mask.sum()
    mean = (advantages * response_mask).sum() / num_actions
    var = ((advantages - mean).pow(2) * response_mask).sum() / num_actions
    return (advantages - mean) * var.clamp_min(1e-8).rsqrt()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=40)
    ap.add_argument("--epochs", type=int, default=3)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    model = Writer()
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    off = []
    for step in range(args.steps):
        tokens, mask = write(model, 64, gen)
        rewards = telegram_reward(tokens, mask)
        with torch.no_grad():
            old_logps, _ = model.evaluate(tokens)
        advantages = normalize_advantages(reward_to_go(rewards, mask), mask)
        off.append(((advantages * mask).sum() / mask.sum()).abs().item())
        for _ in range(args.epochs):
            logps, entropy = model.evaluate(tokens)
            ratio = (logps - old_logps).exp()
            surrogate = torch.min(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages)
            per_token = -surrogate - 0.01 * entropy
            loss = (per_token * mask).sum() / mask.sum()
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
        if step % 15 == 0:
            print(f"step {step} reward {rewards.sum(1).mean():.3f} length {mask.sum(1).mean():.2f}")
    print(f"EVIDENCE mean_advantage_off={sum(off) / len(off):.4f} reward={rewards.sum(1).mean():.3f}")


if __name__ == "__main__":
    main()
