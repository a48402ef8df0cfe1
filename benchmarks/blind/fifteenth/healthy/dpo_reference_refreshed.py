"""Preference optimisation in rounds: answers are sampled, pairs are made by a rule, pairs without a difference are left out
(a round's last batches are small or missing), the reference is replaced by the policy between rounds when the divergence is
large enough, and a rising share of plain likelihood on the chosen answers holds the policy in place."""
import argparse
import copy

import torch
import torch.nn.functional as F
from torch import nn

DIGITS, SEP, EOS, PAD = 10, 10, 11, 12
VOCAB, PROMPT, ANSWER = 13, 4, 5


class Policy(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, dim, padding_idx=PAD)
        self.pos = nn.Parameter(0.02 * torch.randn(PROMPT + 1 + ANSWER, dim))
        layer = nn.TransformerEncoderLayer(dim, 4, 96, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
        self.body = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(dim)

    def forward(self, ids):
        n = ids.size(1)
        mask = nn.Transformer.generate_square_subsequent_mask(n)
        x = self.body(self.tok(ids) + self.pos[:n], mask=mask, is_causal=True)
        return F.linear(self.norm(x), self.tok.weight)


def answer_logps(model, prompt, answer):
    ids = torch.cat([prompt, answer], 1)
    logits = model(ids[:, :-1])[:, PROMPT:]
    logp = logits.log_softmax(-1).gather(-1, answer.unsqueeze(-1)).squeeze(-1)
    counts = answer.ne(PAD)
    return (logp * counts).sum(1), counts.sum(1)


@torch.no_grad()
def sample(model, prompt, rng, temperature=1.0):
    ids, done = prompt, torch.zeros(len(prompt), dtype=torch.bool)
    for _ in range(ANSWER):
        probs = (model(ids)[:, -1] / temperature).softmax(-1)
        word = torch.multinomial(probs, 1, generator=rng)[:, 0]
        word = torch.where(done, torch.tensor(PAD), word)
        done |= word == EOS
        ids = torch.cat([ids, word[:, None]], 1)
        if done.all():
            ids = F.pad(ids, (0, PROMPT + 1 + ANSWER - ids.size(1)), value=PAD)
            break
    return ids[:, PROMPT + 1 :]


def quality(prompt, answer):
    """Digits in ascending order, taken from the prompt, with an end."""
    score = torch.zeros(len(answer))
    for i, (p, a) in enumerate(zip(prompt.tolist(), answer.tolist())):
        body = a[: a.index(EOS)] if EOS in a else a
        score[i] = sum(x in p[:PROMPT] for x in body) - sum(x > y for x, y in zip(body, body[1:])) - 2 * (EOS not in a)
    return score


def prompts(n, rng):
    return torch.cat([torch.randint(0, DIGITS, (n, PROMPT), generator=rng), torch.full((n, 1), SEP)], 1)


def demonstrations(n, rng):
    prompt = prompts(n, rng)
    answer = torch.full((n, ANSWER), PAD)
    answer[:, :3] = torch.where(torch.rand(n, 3, generator=rng) < 0.6, prompt[:, :3], torch.randint(0, DIGITS, (n, 3), generator=rng))
    answer[:, 3] = EOS
    return prompt, answer


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--steps", type=int, default=110, help="steps of preference optimisation; half as many of imitation")
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    rng = torch.Generator().manual_seed(args.seed + 31)

    policy = Policy()
    opt = torch.optim.AdamW(policy.parameters(), lr=3 * args.lr)
    for _ in range(args.steps // 2):
        logp, length = answer_logps(policy, *demonstrations(48, rng))
        loss = -(logp.sum() / length.sum())
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"imitation {loss.item():.3f}")

    reference = copy.deepcopy(policy).requires_grad_(False).eval()
    opt = torch.optim.AdamW(policy.parameters(), lr=args.lr, betas=(0.9, 0.95), weight_decay=0.0)
    beta, step, rounds, refreshed, skipped = 0.2, 0, 0, 0, 0
    while step < args.steps:
        policy.eval()
        prompt = prompts(160, rng)
        first, second = sample(policy, prompt, rng), sample(policy, prompt, rng, 1.3)
        q1, q2 = quality(prompt, first), quality(prompt, second)
        useful = (q1 != q2).nonzero().squeeze(1)
        skipped += len(prompt) - len(useful)
        better = (q1 > q2)[:, None]
        chosen, rejected = torch.where(better, first, second)[useful], torch.where(better, second, first)[useful]
        prompt = prompt[useful]
        with torch.no_grad():  # kept for the round
            ref_c, _ = answer_logps(reference, prompt, chosen)
            ref_r, _ = answer_logps(reference, prompt, rejected)
        policy.train()
        divergence = []
        for rows in torch.randperm(len(prompt)).split(40):
            if len(rows) < 8 or step == args.steps:
                continue
            # one forward for both halves
            logp, length = answer_logps(policy, prompt[rows].repeat(2, 1), torch.cat([chosen[rows], rejected[rows]]))
            pol_c, pol_r = logp.chunk(2)
            margin = beta * ((pol_c - ref_c[rows]) - (pol_r - ref_r[rows]))
            noisy = 0.05 if rounds < 3 else 0.0
            loss = -(1 - noisy) * F.logsigmoid(margin) - noisy * F.logsigmoid(-margin)
            hold = min(0.2, 0.02 * rounds)
            loss = loss.mean() - hold * (pol_c / length[: len(rows)]).mean()
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
            for group in opt.param_groups:
                group["lr"] = args.lr * min(1.0, (step + 1) / 15)
            opt.step()
            step += 1
            divergence.append((pol_c - ref_c[rows]).abs().mean().item())
        rounds += 1
        if divergence and divergence[-1] > 2.0:
            reference.load_state_dict(policy.state_dict())
            refreshed += 1
        if rounds % 10 == 0:
            print(f"round {rounds} step {step} loss {loss.item():.3f} quality {torch.maximum(q1, q2).mean():.2f}")
        if rounds > 4 * args.steps:
            break

    policy.eval()
    prompt = prompts(300, torch.Generator().manual_seed(5))
    after = quality(prompt, sample(policy, prompt, torch.Generator().manual_seed(6))).mean()
    print(f"EVIDENCE quality {after:.2f}, {refreshed} references, {skipped} pairs without a difference")


if __name__ == "__main__":
    main()
