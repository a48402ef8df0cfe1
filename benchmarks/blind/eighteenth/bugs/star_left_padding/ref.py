"""Rejection-sampling fine-tuning of a small decoder: sample answers, keep the right ones, train on them."""
import argparse
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

PAD, BOS, ASK, EOS = 0, 1, 2, 3
DIGIT0 = 4
VOCAB = 14
IGNORE = -100
MAX_LEN = 24


class Layer(nn.Module):
    def __init__(self, dim, heads=4):
        super().__init__()
        self.heads = heads
        self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 3 * dim), nn.GELU(), nn.Linear(3 * dim, dim))

    def forward(self, x, allowed):
        b, t, d = x.shape
        q, k, v = self.qkv(self.ln1(x)).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=allowed)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, d))
        return x + self.mlp(self.ln2(x))


class Decoder(nn.Module):
    def __init__(self, dim=48, layers=2):
        super().__init__()
        self.tok, self.pos = nn.Embedding(VOCAB, dim), nn.Embedding(MAX_LEN, dim)
        self.layers = nn.ModuleList(Layer(dim) for _ in range(layers))
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, VOCAB, bias=False)

    def forward(self, ids, mask, position_ids=None):
        t = ids.size(1)
        if position_ids is None:
            position_ids = torch.arange(t).expand_as(ids)
        causal = torch.ones(t, t, dtype=torch.bool).tril()
        allowed = (causal & mask.bool()[:, None, :]) | torch.eye(t, dtype=torch.bool)
        x = self.tok(ids) + self.pos(position_ids)
        for layer in self.layers:
            x = layer(x, allowed.unsqueeze(1))
        return self.head(self.norm(x))


def make_task(rng):
    items = [rng.randrange(10) for _ in range(rng.randint(3, 10))]
    prompt = [BOS] + [DIGIT0 + d for d in items] + [ASK]
    answer = [DIGIT0 + d for d in items[:3][::-1]] + [EOS]
    return prompt, answer


def sft_batch(rows):
    width = max(len(p) + len(a) for p, a in rows)
    ids = torch.full((len(rows), width), PAD)
    labels = torch.full((len(rows), width), IGNORE)
    mask = torch.zeros(len(rows), width, dtype=torch.long)
    for i, (p, a) in enumerate(rows):
        n = len(p) + len(a)
        ids[i, :n], mask[i, :n] = torch.tensor(p + a), 1
        labels[i, len(p):n] = torch.tensor(a)
    return ids, mask, labels


def left_pad(prompts):
    width = max(map(len, prompts))
    ids = torch.full((len(prompts), width), PAD)
    mask = torch.zeros(len(prompts), width, dtype=torch.long)
    for i, p in enumerate(prompts):
        ids[i, width - len(p):], mask[i, width - len(p):] = torch.tensor(p), 1
    return ids, mask


@torch.no_grad()
def generate(model, prompts, gen=None, max_new=4, temperature=0.7):
    """Batched decoding; greedy when no generator is given."""
    ids, mask = left_pad(prompts)
    width = ids.size(1)
    for _ in range(max_new):
        position_ids = (mask.cumsum(-1) - 1).clamp(min=0)
        logits = model(ids, mask, position_ids)[:, -1]
        if gen is None:
            nxt = logits.argmax(-1, keepdim=True)
        else:
            nxt = torch.multinomial((logits / temperature).softmax(-1), 1, generator=gen)
        ids = torch.cat([ids, nxt], 1)
        mask = torch.cat([mask, torch.ones_like(nxt)], 1)
    out = []
    for row in ids[:, width:].tolist():
        out.append(row[:row.index(EOS) + 1] if EOS in row else row)
    return out


def sft_step(model, opt, rows):
    ids, mask, labels = sft_batch(rows)
    logits = model(ids, mask)
    loss = F.cross_entropy(logits[:, :-1].reshape(-1, VOCAB), labels[:, 1:].reshape(-1), ignore_index=IGNORE)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    return loss.item()


def exact_match(model, tasks):
    answers = generate(model, [p for p, _ in tasks])
    return sum(a == b for a, (_, b) in zip(answers, tasks)) / len(tasks)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=60)
    ap.add_argument("--warmup_steps", type=int, default=60)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    rng = random.Random(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    test = [make_task(random.Random(7_000 + i)) for i in range(300)]

    model = Decoder()
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    for step in range(args.warmup_steps):
        loss = sft_step(model, opt, [make_task(rng) for _ in range(32)])
    print(f"demonstrations: loss {loss:.4f} exact {exact_match(model, test):.3f}")

    pool, kept, asked = [], 0, 0
    for step in range(args.steps):
        tasks = [make_task(rng) for _ in range(32)]
        answers = generate(model, [p for p, _ in tasks], gen)
        good = [(p, a) for (p, target), a in zip(tasks, answers) if a == target]
        pool = (pool + good)[-400:]
        kept, asked = kept + len(good), asked + len(tasks)
        if len(pool) < 24:
            continue
        loss = sft_step(model, opt, rng.sample(pool, 24))
        if step % 15 == 0 or step == args.steps - 1:
            print(f"round {step} loss {loss:.4f} accepted {len(good)}/32")
    print(f"EVIDENCE exact={exact_match(model, test):.3f} acceptance={kept / asked:.3f}")


if __name__ == "__main__":
    main()
