"""PPO from a scorer: a recipe writer gets a per-token KL penalty and one score at the end."""
import argparse
import copy

import torch
from torch import nn

PAD, EOS, FIRST, VOCAB, LENGTH = 0, 1, 2, 14, 12


class RecipeWriter(nn.Module):
    def __init__(self, dim=40):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.lm = nn.Linear(dim, VOCAB)
        self.v = nn.Linear(dim, 1)

    def forward(self, ids):
        h, _ = self.rnn(self.embed(ids))
        logits = self.lm(h)
        logits[..., PAD] = -1e9
        return logits, self.v(h).squeeze(-1)

    def score_tokens(self, response):
        shifted = torch.cat([torch.zeros_like(response[:, :1]), response[:, :-1]], 1)
        logits, values = self(shifted)
        return logits.log_softmax(-1).gather(-1, response[..., None]).squeeze(-1), values


@torch.no_grad()
def respond(model, n, gen):
    ids = torch.zeros(n, 1, dtype=torch.long)
    done = torch.zeros(n, dtype=torch.bool)
    for _ in range(LENGTH):
        logits, _ = model(ids)
        nxt = torch.multinomial(logits[:, -1].softmax(-1), 1, generator=gen).squeeze(1)
        nxt = torch.where(done, torch.full_like(nxt, PAD), nxt)
        done |= nxt == EOS
        ids = torch.cat([ids, nxt[:, None]], 1)
    return ids[:, 1:]


def scorer(response, mask):
    """Likes recipes of even ingredients that come to an end soon."""
    words = (response >= FIRST).float()
    even = ((response % 2 == 0).float() * words).sum(1) / words.sum(1).clamp_min(1)
    ended = (response == EOS).any(1).float()
    return 2 * even * (words.sum(1) > 1) + ended - 0.1 * mask.sum(1)


def build_rewards(kl, scores, mask, beta=0.02):
    rewards = -beta * kl * mask
    sequence_lengths = mask.sum(1).long() - 1
    sequence_lengths_p1 = sequence_lengths + 1
    actual_end = torch.where(sequence_lengths_p1 <= LENGTH, sequence_lengths, sequence_lengths - 1)
    rewards[torch.arange(len(scores)), actual_end] += scores
    return rewards * mask


def advantages_of(rewards, values, mask, lam=0.95):
    adv, last = torch.zeros_like(rewards), 0.0
    values = values * mask
    for t in reversed(range(LENGTH)):
        nxt = values[:, t + 1] if t + 1 < LENGTH else 0.0
        last = rewards[:, t] + nxt - values[:, t] + lam * last
        adv[:, t] = last
    return adv * mask, (adv + values) * mask


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=40)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    policy = RecipeWriter()
    reference = copy.deepcopy(policy).requires_grad_(False)
    opt = torch.optim.Adam(policy.parameters(), lr=args.lr)
    arrived = []
    for step in range(args.steps):
        response = respond(policy, 96, gen)
        mask = (response != PAD).float()
        with torch.no_grad():
            old, values = policy.score_tokens(response)
            kl = old - reference.score_tokens(response)[0]
        scores = scorer(response, mask)
        rewards = build_rewards(kl, scores, mask)
        adv, returns = advantages_of(rewards, values, mask)
        paid = rewards + 0.02 * kl * mask
        arrived.append(((paid.abs().sum(1) > 1e-6).float().sum() / (scores.abs() > 1e-6).float().sum().clamp_min(1)).item())
        norm = (adv - adv[mask > 0].mean()) / (adv[mask > 0].std() + 1e-6)
        for _ in range(3):
            logps, v = policy.score_tokens(response)
            ratio = (logps - old).exp()
            surrogate = torch.min(ratio * norm, ratio.clamp(0.8, 1.2) * norm)
            loss = ((-surrogate + 0.2 * (v - returns).pow(2)) * mask).sum() / mask.sum()
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
            opt.step()
        if step % 10 == 0:
            print(f"step {step} score {scores.mean():.3f} length {mask.sum(1).mean():.1f}")
    print(f"EVIDENCE scores_that_reach_a_token={sum(arrived) / len(arrived):.3f} mean_score={scores.mean():.3f}")


if __name__ == "__main__":
    main()
