"""PPO for a tiny language model: the score of a finished answer is paid at its end, a KL penalty at each token."""
import argparse
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

PAD, BOS, EOS, VOCAB = 0, 1, 2, 12
GOOD = (5, 7)
WIDTH, RESPONSE = 40, 9


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, WIDTH)
        self.rnn = nn.GRU(WIDTH, WIDTH, batch_first=True)
        self.lm_head, self.v_head = nn.Linear(WIDTH, VOCAB), nn.Linear(WIDTH, 1)

    def forward(self, ids):
        h = self.rnn(self.embed(ids))[0]
        logits = self.lm_head(h)
        logits[..., PAD] = logits[..., BOS] = -1e4
        return logits, self.v_head(h).squeeze(-1)


@torch.no_grad()
def generate(model, n, gen):
    query = torch.cat([torch.full((n, 1), BOS), torch.randint(3, VOCAB, (n, 2), generator=gen)], 1)
    ids, finished = query, torch.zeros(n, dtype=torch.bool)
    for _ in range(RESPONSE):
        token = torch.multinomial(model(ids)[0][:, -1].softmax(-1), 1, generator=gen)[:, 0]
        token = torch.where(finished, PAD, token)
        finished |= token == EOS
        ids = torch.cat([ids, token[:, None]], 1)
    return query, ids[:, query.shape[1]:], finished


def score(responses, finished):
    """One point for each good word, half a point less for each other one; answers that do not end are worth -1."""
    good = sum((responses == g).float() for g in GOOD).sum(1)
    other = ((responses > EOS).float().sum(1) - good)
    return torch.where(finished, good - 0.5 * other, torch.tensor(-1.0))


def forward_response(model, query, responses):
    logits, values = model(torch.cat([query, responses], 1))
    at = slice(query.shape[1] - 1, -1)
    logps = logits[:, at].log_softmax(-1)
    return logps.gather(2, responses[..., None]).squeeze(-1), values[:, at], -(logps.exp() * logps).sum(-1)


def masked_mean(x, mask):
    return (x * mask).sum() / mask.sum()


def gae(rewards, values, mask, gamma=1.0, lam=0.95):
    advantages, last = torch.zeros_like(rewards), 0.0
    for t in reversed(range(rewards.shape[1])):
        following = values[:, t + 1] * mask[:, t + 1] if t + 1 < rewards.shape[1] else 0.0
        delta = rewards[:, t] + gamma * following - values[:, t]
        last = (delta + gamma * lam * last) * mask[:, t]
        advantages[:, t] = last
    return advantages, advantages + values


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=4e-3)
    ap.add_argument("--steps", type=int, default=60)
    ap.add_argument("--kl-coef", type=float, default=0.03)
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    policy = ActorCritic()
    reference = copy.deepcopy(policy).requires_grad_(False)
    optimizer = torch.optim.Adam(policy.parameters(), lr=args.lr)
    history = []
    for step in range(args.steps):
        query, responses, finished = generate(policy, 64, gen)
        scores = score(responses, finished)
        mask = (responses != PAD).float()
        sequence_lengths = mask.sum(1).long() - 1                     # place of the last token of each answer
        with torch.no_grad():
            old_logps, old_values, _ = forward_response(policy, query, responses)
            ref_logps = forward_response(reference, query, responses)[0]
            rewards = -args.kl_coef * (old_logps - ref_logps) * mask
            actual_end = sequence_lengths
            rewards[torch.arange(len(rewards)), actual_end] += scores
            advantages, returns = gae(rewards, old_values * mask, mask)
            mean = masked_mean(advantages, mask)
            advantages = (advantages - mean) / (masked_mean((advantages - mean) ** 2, mask).sqrt() + 1e-8)
        for _ in range(2):
            logps, values, entropy = forward_response(policy, query, responses)
            ratio = ((logps - old_logps) * mask).exp()
            surrogate = torch.min(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages)
            pg_loss, vf_loss = -masked_mean(surrogate, mask), masked_mean((values - returns) ** 2, mask)
            loss = pg_loss + 0.2 * vf_loss - 0.003 * masked_mean(entropy, mask)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
            optimizer.step()
        history.append((scores.mean().item(), finished.float().mean().item(), returns[mask > 0].mean().item()))
        if step % 20 == 19:
            print(f"step {step + 1} score {history[-1][0]:.3f} finished {history[-1][1]:.3f} length {mask.sum(1).mean():.2f}")
    last = [sum(h[i] for h in history[-10:]) / 10 for i in range(3)]
    print(f"EVIDENCE score={last[0]:.3f} finished={last[1]:.3f} return={last[2]:.3f}")


if __name__ == "__main__":
    main()
