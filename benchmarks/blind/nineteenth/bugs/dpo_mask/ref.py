"""SFT followed by DPO: the answer opens with a verdict token, then a short explanation."""
import argparse
import copy

import torch
from torch import nn
import torch.nn.functional as F

PAD, BOS, ANS, EOS, YES, NO = range(6)
LETTER = 6          # eight letters
EXPL = 14           # six explanation words
VOCAB = 20
PROMPT_LETTERS = 5


class TinyGPT(nn.Module):
    def __init__(self, width=64, layers=2, heads=4, max_len=32):
        super().__init__()
        self.wte = nn.Embedding(VOCAB, width)
        self.wpe = nn.Embedding(max_len, width)
        layer = nn.TransformerEncoderLayer(width, heads, 4 * width, dropout=0.0, batch_first=True,
                                           norm_first=True, activation="gelu")
        self.h = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.ln_f = nn.LayerNorm(width)
        self.lm_head = nn.Linear(width, VOCAB, bias=False)

    def forward(self, ids):
        t = ids.size(1)
        mask = torch.triu(torch.ones(t, t, dtype=torch.bool), 1)
        h = self.wte(ids) + self.wpe(torch.arange(t))
        return self.lm_head(self.ln_f(self.h(h, mask=mask)))


def sample_prompt(gen):
    return torch.randint(0, 8, (PROMPT_LETTERS,), generator=gen)


def is_positive(letters):
    return bool((letters < 3).any())


def encode(letters, verdict, gen):
    n = int(torch.randint(2, 6, (1,), generator=gen))
    explanation = torch.randint(EXPL, VOCAB, (n,), generator=gen).tolist()
    return [BOS] + (letters + LETTER).tolist() + [ANS, verdict] + explanation + [EOS]


def loss_mask(ids):
    """1 on the tokens of the answer: all after ANS up to and with EOS."""
    mask = [0] * len(ids)
    start = ids.index(ANS) + 1
    end = ids.index(EOS)
    for j in range(start, end + 1):
        mask[j] = 1
    return mask


def collate(rows):
    width = max(len(r) for r in rows)
    ids = torch.tensor([r + [PAD] * (width - len(r)) for r in rows])
    mask = torch.tensor([loss_mask(r) + [0] * (width - len(r)) for r in rows], dtype=torch.float)
    return ids, mask


def sequence_logps(model, ids, mask):
    logits = model(ids[:, :-1])
    logp = logits.log_softmax(-1).gather(-1, ids[:, 1:, None]).squeeze(-1)
    return (logp * mask[:, 1:]).sum(-1)


def preference_batch(size, gen):
    chosen, rejected = [], []
    for _ in range(size):
        letters = sample_prompt(gen)
        good, bad = (YES, NO) if is_positive(letters) else (NO, YES)
        chosen.append(encode(letters, good, gen))
        rejected.append(encode(letters, bad, gen))
    return collate(chosen + rejected)


def dpo_loss(policy, reference, ids, mask, beta):
    n = ids.size(0) // 2
    policy_logps = sequence_logps(policy, ids, mask)
    with torch.no_grad():
        ref_logps = sequence_logps(reference, ids, mask)
    ratio = policy_logps - ref_logps
    margin = beta * (ratio[:n] - ratio[n:])
    return -F.logsigmoid(margin).mean(), (margin > 0).float().mean()


def sft(model, gen, steps, lr):
    opt = torch.optim.AdamW(model.parameters(), lr=lr)
    for step in range(steps):
        rows = []
        for _ in range(32):
            verdict = YES if torch.rand(1, generator=gen) < 0.5 else NO
            rows.append(encode(sample_prompt(gen), verdict, gen))
        ids, _ = collate(rows)
        loss = F.cross_entropy(model(ids[:, :-1]).transpose(1, 2), ids[:, 1:], ignore_index=PAD)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"sft done, loss {loss.item():.4f}")


@torch.no_grad()
def verdict_accuracy(model, gen, n=300):
    letters = torch.stack([sample_prompt(gen) for _ in range(n)])
    prompt = torch.cat([torch.full((n, 1), BOS), letters + LETTER, torch.full((n, 1), ANS)], 1)
    logits = model(prompt)[:, -1]
    said_yes = logits[:, YES] > logits[:, NO]
    truth = torch.tensor([is_positive(row) for row in letters])
    rate_yes = truth.float().mean()
    hit_pos = (said_yes & truth).float().mean() / rate_yes
    hit_neg = (~said_yes & ~truth).float().mean() / (1 - rate_yes)
    return 0.5 * (hit_pos + hit_neg).item()


def main():
    cli = argparse.ArgumentParser()
    cli.add_argument("--seed", type=int, default=0)
    cli.add_argument("--lr", type=float, default=1e-3)
    cli.add_argument("--steps", type=int, default=100)
    cli.add_argument("--beta", type=float, default=0.2)
    cli.add_argument("--batch", type=int, default=24)
    args = cli.parse_args()

    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed + 1)
    policy = TinyGPT()
    sft(policy, gen, steps=40, lr=2e-3)
    reference = copy.deepcopy(policy).eval().requires_grad_(False)
    optimizer = torch.optim.AdamW(policy.parameters(), lr=args.lr, weight_decay=0.0)

    for step in range(args.steps):
        ids, mask = preference_batch(args.batch, gen)
        loss, acc = dpo_loss(policy, reference, ids, mask, args.beta)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimizer.step()
        if step % 20 == 0:
            print(f"dpo step {step} loss {loss.item():.4f} reward_acc {acc.item():.2f}")
    print(f"EVIDENCE balanced_verdict_accuracy={verdict_accuracy(policy, gen):.3f}")


if __name__ == "__main__":
    main()
