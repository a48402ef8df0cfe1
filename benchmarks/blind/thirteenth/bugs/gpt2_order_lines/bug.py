"""Tiny GPT-2 trained on short kitchen orders, one order per row; the end token also pads."""

import argparse
import random

import torch
from torch.utils.data import DataLoader
from transformers import GPT2Config, GPT2LMHeadModel, get_linear_schedule_with_warmup, logging, set_seed

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=8e-3)
parser.add_argument("--steps", type=int, default=4, help="epochs")
args = parser.parse_args()
set_seed(args.seed)
logging.set_verbosity_error()
torch.set_num_threads(1)

WHO = ["table four", "ana", "the bar", "room nine", "bo"]
WHAT = ["soup", "rice", "two teas", "black coffee", "bread and oil", "fish"]
EXTRA = ["", " without salt", " to go", " very hot"]
ALPHABET = "abcdefghijklmnopqrstuvwxyz :"
EOS = len(ALPHABET)
PAD = EOS


def encode(text):
    return [ALPHABET.index(c) for c in text]


def decode(ids):
    return "".join(ALPHABET[i] if i < EOS else "" for i in ids)


def make_order(rng):
    return f"{rng.choice(WHO)}: {rng.choice(WHAT)}{rng.choice(EXTRA)}"


def collate(texts):
    rows = [encode(t) + [EOS] for t in texts]
    width = max(len(r) for r in rows)
    input_ids = torch.full((len(rows), width), PAD)
    attention_mask = torch.zeros(len(rows), width, dtype=torch.long)
    for i, r in enumerate(rows):
        input_ids[i, : len(r)] = torch.tensor(r)
        attention_mask[i, : len(r)] = 1
    labels = input_ids.clone()
    labels[input_ids == PAD] = -100
    return {"input_ids": input_ids, "attention_mask": attention_mask, "labels": labels}


rng = random.Random(args.seed)
orders = [make_order(rng) for _ in range(640)]
held_out = [make_order(rng) for _ in range(64)]
loader = DataLoader(orders, batch_size=16, shuffle=True, collate_fn=collate)

config = GPT2Config(
    vocab_size=len(ALPHABET) + 1, n_positions=64, n_embd=48, n_layer=2, n_head=4,
    bos_token_id=EOS, eos_token_id=EOS, pad_token_id=PAD,
    resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
)
model = GPT2LMHeadModel(config)
opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
total = args.steps * len(loader)
sched = get_linear_schedule_with_warmup(opt, total // 10, total)

for epoch in range(args.steps):
    model.train()
    for batch in loader:
        loss = model(**batch).loss
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()

model.eval()
possible = {f"{w}: {f}{e}" for w in WHO for f in WHAT for e in EXTRA}
finished = right = 0
with torch.no_grad():
    val = model(**collate(held_out)).loss.item()
    for who in WHO:
        prompt = torch.tensor([encode(f"{who}:")]).repeat(4, 1)
        out = model.generate(prompt, attention_mask=torch.ones_like(prompt), do_sample=True, temperature=0.7, max_new_tokens=40)
        for row in out.tolist():
            finished += EOS in row
            right += decode(row) in possible
print(f"loss {val:.3f}, sample: {decode(row)!r}")
print(f"EVIDENCE {finished}/20 samples stop before 40 new tokens, {right}/20 are valid orders")
