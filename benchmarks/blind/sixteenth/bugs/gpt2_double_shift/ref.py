"""Character-level GPT-2 (from a config) on a synthetic order-log corpus.

The block dataset follows the nanoGPT convention: x = chunk[:-1], y = chunk[1:].
"""
import argparse
import math
import random
import time

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset
from transformers import GPT2Config, GPT2LMHeadModel

WHO = ["alice", "bob", "carol", "dave", "erin", "frank"]
VERB = ["orders", "returns", "rents", "sells"]
ITEM = ["lamps", "chairs", "ropes", "boats", "tents", "kites"]


def make_corpus(rng, n_lines):
    lines = []
    for _ in range(n_lines):
        k = rng.randint(2, 9)
        lines.append(f"{rng.choice(WHO)} {rng.choice(VERB)} {k} {rng.choice(ITEM)} for {k * 10} coins.")
    return "\n".join(lines) + "\n"


class CharVocab:
    def __init__(self, text):
        self.itos = sorted(set(text))
        self.stoi = {c: i for i, c in enumerate(self.itos)}

    def __len__(self):
        return len(self.itos)

    def encode(self, s):
        return torch.tensor([self.stoi[c] for c in s], dtype=torch.long)

    def decode(self, ids):
        return "".join(self.itos[i] for i in ids)


class BlockDataset(Dataset):
    def __init__(self, ids, block):
        self.ids, self.block = ids, block

    def __len__(self):
        return (len(self.ids) - 1) // self.block

    def __getitem__(self, i):
        chunk = self.ids[i * self.block: i * self.block + self.block + 1]
        return chunk[:-1], chunk[1:]


def lm_loss(model, x, y):
    logits = model(input_ids=x).logits
    return F.cross_entropy(logits.flatten(0, 1), y.flatten())


def cosine_lr(step, total, base, warmup=20):
    if step < warmup:
        return base * (step + 1) / warmup
    t = (step - warmup) / max(1, total - warmup)
    return base * (0.1 + 0.45 * (1 + math.cos(math.pi * t)))


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    losses = [lm_loss(model, x, y).item() for x, y in loader]
    model.train()
    return sum(losses) / len(losses)


@torch.no_grad()
def next_char_accuracy(model, ids, block):
    model.eval()
    n = (len(ids) // block) * block
    x = ids[:n].view(-1, block)
    pred = model(input_ids=x).logits.argmax(-1)
    acc = (pred[:, :-1] == x[:, 1:]).float().mean().item()
    model.train()
    return acc


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--lr", type=float, default=4e-3)
    p.add_argument("--steps", type=int, default=80)
    args = p.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    rng = random.Random(args.seed)

    text = make_corpus(rng, 1200)
    vocab = CharVocab(text)
    ids = vocab.encode(text)
    cut = int(0.9 * len(ids))
    block = 48
    train_loader = DataLoader(BlockDataset(ids[:cut], block), batch_size=16, shuffle=True, drop_last=True)
    val_loader = DataLoader(BlockDataset(ids[cut:], block), batch_size=32)

    cfg = GPT2Config(vocab_size=len(vocab), n_positions=block, n_embd=64, n_layer=2, n_head=4,
                     resid_pdrop=0.05, embd_pdrop=0.05, attn_pdrop=0.05,
                     bos_token_id=0, eos_token_id=0)
    model = GPT2LMHeadModel(cfg)
    decay = [q for q in model.parameters() if q.dim() >= 2]
    other = [q for q in model.parameters() if q.dim() < 2]
    opt = torch.optim.AdamW([{"params": decay, "weight_decay": 0.1},
                             {"params": other, "weight_decay": 0.0}], lr=args.lr, betas=(0.9, 0.95))

    model.train()
    step, t0 = 0, time.time()
    while step < args.steps:
        for x, y in train_loader:
            for g in opt.param_groups:
                g["lr"] = cosine_lr(step, args.steps, args.lr)
            loss = lm_loss(model, x, y)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            step += 1
            if step % 20 == 0:
                print(f"step {step} train {loss.item():.3f} val {evaluate(model, val_loader):.3f} "
                      f"({time.time() - t0:.1f}s)")
            if step >= args.steps:
                break

    val = evaluate(model, val_loader)
    acc = next_char_accuracy(model, ids[cut:], block)
    print(f"EVIDENCE val_loss={val:.4f} next_char_acc={acc:.4f}")


if __name__ == "__main__":
    main()
