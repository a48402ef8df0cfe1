"""Supervised fine-tuning of a small decoder on "repeat the letter k times" instructions."""
import argparse
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

LETTERS = 10
COUNTS = 7
EOS = 0
PAD = 1
BOS = 2
SEP = 3
LETTER0 = 4
COUNT0 = LETTER0 + LETTERS
VOCAB = COUNT0 + COUNTS
MAX_LEN = 24


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
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, d))
        return x + self.mlp(self.ln2(x))


class Decoder(nn.Module):
    def __init__(self, dim=64, depth=2, heads=4):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, dim)
        self.pos = nn.Embedding(MAX_LEN, dim)
        self.blocks = nn.ModuleList(Block(dim, heads) for _ in range(depth))
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, VOCAB, bias=False)

    def forward(self, ids):
        x = self.tok(ids) + self.pos(torch.arange(ids.size(1), device=ids.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def make_example(rng):
    letter = rng.randrange(LETTERS)
    count = rng.randrange(COUNTS)
    prompt = [BOS, COUNT0 + count, LETTER0 + letter, SEP]
    answer = [LETTER0 + letter] * (count + 1) + [EOS]
    return prompt, answer


class InstructionCollator:
    """Pads a list of (prompt, answer) pairs and builds labels for the answers only."""

    def __init__(self, pad_id, ignore_index=-100):
        self.pad_id = pad_id
        self.ignore_index = ignore_index

    def __call__(self, examples):
        width = max(len(p) + len(a) for p, a in examples)
        input_ids = torch.full((len(examples), width), self.pad_id)
        prompt_len = torch.zeros(len(examples), dtype=torch.long)
        for row, (prompt, answer) in enumerate(examples):
            ids = prompt + answer
            input_ids[row, : len(ids)] = torch.tensor(ids)
            prompt_len[row] = len(prompt)
        labels = input_ids.clone()
        labels[input_ids == self.pad_id] = self.ignore_index
        is_prompt = torch.arange(width)[None, :] < prompt_len[:, None]
        labels[is_prompt] = self.ignore_index
        return input_ids, labels


def sft_loss(model, input_ids, labels):
    logits = model(input_ids)[:, :-1]
    return F.cross_entropy(logits.flatten(0, 1), labels[:, 1:].flatten(), ignore_index=-100)


@torch.no_grad()
def generate(model, prompts, max_new=12):
    ids = torch.tensor(prompts)
    done = torch.zeros(ids.size(0), dtype=torch.bool)
    for _ in range(max_new):
        nxt = model(ids)[:, -1].argmax(-1)
        nxt = torch.where(done, torch.full_like(nxt, EOS), nxt)
        ids = torch.cat([ids, nxt[:, None]], dim=1)
        done |= nxt == EOS
        if done.all():
            break
    return ids[:, len(prompts[0]):], done


def evaluate(model, examples):
    model.eval()
    out, done = generate(model, [p for p, _ in examples])
    correct = 0
    for row, (_, answer) in zip(out.tolist(), examples):
        stop = row.index(EOS) + 1 if EOS in row else len(row)
        correct += row[:stop] == answer
    model.train()
    return correct / len(examples), done.float().mean().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--batch", type=int, default=48)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    rng = random.Random(args.seed)
    model = Decoder()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    collate = InstructionCollator(pad_id=PAD)
    held_out = [make_example(rng) for _ in range(200)]

    for step in range(args.steps):
        input_ids, labels = collate([make_example(rng) for _ in range(args.batch)])
        loss = sft_loss(model, input_ids, labels)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 20 == 0 or step == args.steps - 1:
            print(f"step {step:4d} loss {loss.item():.4f}")

    exact, stopped = evaluate(model, held_out)
    print(f"EVIDENCE exact_match={exact:.3f} stopped={stopped:.3f}")


if __name__ == "__main__":
    main()
