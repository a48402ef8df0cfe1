"""Reference-free preference tuning (ORPO) of a tiny causal LM on a reverse-the-list task."""
import argparse
import math
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

PAD, BOS, SEP, EOS = 0, 1, 2, 3
DIGIT0 = 4
VOCAB = 14
IGNORE = -100


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.ln1 = nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.ln2 = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.ln1(x)).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        att = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(att.transpose(1, 2).reshape(b, t, d))
        return x + self.mlp(self.ln2(x))


class TinyLM(nn.Module):
    def __init__(self, dim=64, layers=2, heads=4, max_len=24):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, dim)
        self.pos = nn.Embedding(max_len, dim)
        self.blocks = nn.ModuleList(Block(dim, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, VOCAB, bias=False)

    def forward(self, ids):
        x = self.tok(ids) + self.pos(torch.arange(ids.size(1)))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def make_pair(rng):
    items = [rng.randrange(10) for _ in range(rng.randint(3, 6))]
    good = items[::-1]
    bad = list(good)
    i = rng.randrange(len(bad))
    bad[i] = (bad[i] + rng.randint(1, 9)) % 10
    prompt = [BOS] + [DIGIT0 + d for d in items] + [SEP]
    return prompt, [DIGIT0 + d for d in good] + [EOS], [DIGIT0 + d for d in bad] + [EOS]


def collate(rows):
    width = max(len(p) + len(a) for p, a in rows)
    ids = torch.full((len(rows), width), PAD)
    labels = torch.full((len(rows), width), IGNORE)
    for i, (prompt, answer) in enumerate(rows):
        seq = prompt + answer
        ids[i, :len(seq)] = torch.tensor(seq)
        labels[i, len(prompt):len(seq)] = torch.tensor(answer)
    return ids, labels


def batch_logps(logits, labels):
    """Log probability of the answers: one number for each row of the batch."""
    logits, labels = logits[:, :-1], labels[:, 1:]
    mask = labels.ne(IGNORE)
    picked = logits.log_softmax(-1).gather(2, labels.clamp(min=0).unsqueeze(2)).squeeze(2)
    return (picked * mask).sum(-1) / mask.sum(-1)


def orpo_loss(model, pairs, weight):
    chosen = [(p, c) for p, c, _ in pairs]
    rejected = [(p, r) for p, _, r in pairs]
    ids, labels = collate(chosen + rejected)
    logits = model(ids)
    n = len(pairs)
    nll = F.cross_entropy(logits[:n, :-1].reshape(-1, VOCAB), labels[:n, 1:].reshape(-1), ignore_index=IGNORE)
    logps = batch_logps(logits, labels)
    chosen_lp, rejected_lp = logps[:n], logps[n:]
    log_odds = (chosen_lp - rejected_lp) - (log1mexp(chosen_lp) - log1mexp(rejected_lp))
    ratio = -F.logsigmoid(log_odds).mean()
    return nll + weight * ratio, nll.item(), ratio.item()


def log1mexp(x):
    return torch.log1p(-torch.exp(x).clamp(max=1 - 1e-6))


@torch.no_grad()
def evaluate(model, pairs):
    model.eval()
    ids, labels = collate([(p, c) for p, c, _ in pairs])
    logits = model(ids)
    nll = F.cross_entropy(logits[:, :-1].reshape(-1, VOCAB), labels[:, 1:].reshape(-1), ignore_index=IGNORE)
    keep = labels[:, 1:].ne(IGNORE)
    hit = (logits[:, :-1].argmax(-1).eq(labels[:, 1:]) | ~keep).all(-1).float().mean()
    model.train()
    return nll.item(), hit.item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=120)
    ap.add_argument("--orpo_weight", type=float, default=0.5)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    rng = random.Random(args.seed)

    model = TinyLM()
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    sched = torch.optim.lr_scheduler.LambdaLR(
        opt, lambda s: min(1.0, (s + 1) / 10) * 0.5 * (1 + math.cos(math.pi * min(1.0, s / args.steps))))
    held_out = [make_pair(random.Random(10_000 + i)) for i in range(256)]

    for step in range(args.steps):
        pairs = [make_pair(rng) for _ in range(24)]
        loss, nll, ratio = orpo_loss(model, pairs, args.orpo_weight)
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
        if step % 20 == 0 or step == args.steps - 1:
            print(f"step {step} loss {loss.item():.4f} nll {nll:.4f} odds {ratio:.4f}")

    nll, exact = evaluate(model, held_out)
    print(f"EVIDENCE heldout_nll={nll:.4f} exact={exact:.3f}")


if __name__ == "__main__":
    main()
