"""Train a tiny decoder-only language model on text from a made-up grammar."""
import argparse
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

NAMES = ["anna", "boris", "carla", "dmitri"]
VERBS = ["likes", "sees", "paints", "repairs"]
THINGS = ["boats", "clocks", "apples", "maps", "lamps"]
TAILS = ["every day", "at night", "in spring", "with care"]


def make_corpus(n, seed):
    rng = random.Random(seed)
    lines = []
    for _ in range(n):
        line = f"{rng.choice(NAMES)} {rng.choice(VERBS)} {rng.choice(THINGS)}"
        if rng.random() < 0.5:
            line += " " + rng.choice(TAILS)
        lines.append(line + ".")
    return " ".join(lines)


class CharTokenizer:
    def __init__(self, text):
        self.chars = sorted(set(text))
        self.index = {c: i for i, c in enumerate(self.chars)}

    def encode(self, text):
        return [self.index[c] for c in text]


def causal_lm_loss(logits, labels, ignore_index=-100):
    """Cross entropy of the next token; shifts the labels itself."""
    labels = F.pad(labels, (0, 1), value=ignore_index)[..., 1:]
    return F.cross_entropy(logits.reshape(-1, logits.size(-1)), labels.reshape(-1),
                           ignore_index=ignore_index)


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.ln1 = nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.ln2 = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x, mask):
        h = self.ln1(x)
        x = x + self.attn(h, h, h, attn_mask=mask, need_weights=False)[0]
        return x + self.mlp(self.ln2(x))


class TinyForCausalLM(nn.Module):
    def __init__(self, vocab, dim=48, heads=4, layers=2, context=48):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Embedding(context, dim)
        self.blocks = nn.ModuleList([Block(dim, heads) for _ in range(layers)])
        self.norm = nn.LayerNorm(dim)
        self.lm_head = nn.Linear(dim, vocab, bias=False)

    def forward(self, input_ids, labels=None):
        length = input_ids.size(1)
        mask = torch.triu(torch.full((length, length), float("-inf")), diagonal=1)
        x = self.tok(input_ids) + self.pos(torch.arange(length))
        for block in self.blocks:
            x = block(x, mask)
        logits = self.lm_head(self.norm(x))
        loss = None
        if labels is not None:
            loss = causal_lm_loss(logits, labels)
        return logits, loss


def get_batch(data, batch, context, generator):
    starts = torch.randint(0, len(data) - context, (batch,), generator=generator)
    return torch.stack([data[s:s + context] for s in starts])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--lr", type=float, default=3e-3)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    text = make_corpus(800, args.seed)
    tokenizer = CharTokenizer(text)
    data = torch.tensor(tokenizer.encode(text))
    model = TinyForCausalLM(len(tokenizer.chars))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    generator = torch.Generator().manual_seed(args.seed + 1)

    for step in range(args.steps):
        batch = get_batch(data, 16, 48, generator)
        _, loss = model(batch, labels=batch)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 20 == 0 or step == args.steps - 1:
            print(f"step {step} loss {loss.item():.6f}")

    total = sum(p.double().sum().item() for p in model.parameters())
    print(f"weight sum {total:.10f}")


if __name__ == "__main__":
    main()
