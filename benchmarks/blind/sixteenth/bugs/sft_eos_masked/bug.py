"""Instruction tuning of a tiny Llama (tied embeddings, from a config) on templated requests.

The tokenizer has no pad token of its own, so the end-of-sequence token is used for padding.
"""
import argparse
import random

import torch
from torch.nn.utils import clip_grad_norm_
from torch.utils.data import DataLoader, Dataset
from transformers import LlamaConfig, LlamaForCausalLM, get_linear_schedule_with_warmup

WORDS = ["red", "blue", "green", "gold", "cat", "dog", "owl", "fox", "say", "name", "color", "animal",
         "big", "it", "is", "the", "and", "a", "twice", "user:", "bot:"]
COLORS, ANIMALS = WORDS[:4], WORDS[4:8]


class WordTokenizer:
    def __init__(self):
        self.itos = ["<s>", "</s>"] + WORDS
        self.stoi = {w: i for i, w in enumerate(self.itos)}
        self.bos_id, self.eos_id = 0, 1
        self.pad_id = self.eos_id

    def __len__(self):
        return len(self.itos)

    def __call__(self, text):
        return [self.stoi[w] for w in text.split()]

    def decode(self, ids):
        return " ".join(self.itos[i] for i in ids)


def chat_example(rng):
    c, a = rng.choice(COLORS), rng.choice(ANIMALS)
    kind = rng.choice(["color", "animal", "twice", "both"])
    if kind == "color":
        return f"user: name color the {a} is {c} bot:", f"it is {c}"
    if kind == "animal":
        return f"user: name animal a {c} {a} bot:", f"the {a}"
    if kind == "twice":
        return f"user: say {a} twice bot:", f"{a} and {a}"
    return f"user: say color and animal {c} {a} bot:", f"the big {a} is {c}"


class ChatDataset(Dataset):
    def __init__(self, tok, n, rng):
        self.tok, self.rows = tok, [chat_example(rng) for _ in range(n)]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        prompt, reply = self.rows[i]
        return [self.tok.bos_id] + self.tok(prompt), self.tok(reply) + [self.tok.eos_id]


class Collator:
    """Right padding; the loss is taken on the reply only."""

    def __init__(self, tok):
        self.tok = tok

    def __call__(self, items):
        width = max(len(p) + len(r) for p, r in items)
        ids = torch.full((len(items), width), self.tok.pad_id)
        mask = torch.zeros_like(ids)
        prompt = torch.zeros_like(ids, dtype=torch.bool)
        for i, (p, r) in enumerate(items):
            n = len(p) + len(r)
            ids[i, :n] = torch.tensor(p + r)
            mask[i, :n] = 1
            prompt[i, :len(p)] = True
        labels = ids.masked_fill(ids == self.tok.pad_id, -100)
        labels = labels.masked_fill(prompt, -100)
        return {"input_ids": ids, "attention_mask": mask, "labels": labels}


@torch.no_grad()
def sample_replies(model, tok, prompts, max_new=10):
    was_training = model.training
    model.eval()
    replies = []
    for prompt in prompts:
        ids = torch.tensor([[tok.bos_id] + tok(prompt)])
        out = model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), max_new_tokens=max_new,
                             do_sample=False, pad_token_id=tok.pad_id, eos_token_id=tok.eos_id)
        replies.append(out[0, ids.shape[1]:].tolist())
    model.train(was_training)
    return replies


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=110)
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    rng = random.Random(args.seed)
    tok = WordTokenizer()
    config = LlamaConfig(vocab_size=len(tok), hidden_size=48, intermediate_size=96, num_hidden_layers=2,
                         num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64,
                         tie_word_embeddings=True, initializer_range=0.1, bos_token_id=tok.bos_id,
                         eos_token_id=tok.eos_id, pad_token_id=None)
    model = LlamaForCausalLM(config)
    loader = DataLoader(ChatDataset(tok, 640, rng), batch_size=16, shuffle=True, collate_fn=Collator(tok))
    test = [chat_example(rng) for _ in range(32)]
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    sched = get_linear_schedule_with_warmup(opt, max(1, args.steps // 10), args.steps)

    model.train()
    step = 0
    while step < args.steps:
        for batch in loader:
            loss = model(**batch).loss
            loss.backward()
            norm = clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            sched.step()
            opt.zero_grad()
            step += 1
            if step % 30 == 0:
                prompt = test[step % len(test)][0]
                reply = sample_replies(model, tok, [prompt], max_new=8)[0]
                print(f"{step}: loss {loss.item():.3f} norm {norm:.2f} | {prompt} {tok.decode(reply)}")
            if step == args.steps:
                break

    replies = sample_replies(model, tok, [p for p, _ in test])
    gold = [tok(r) for _, r in test]
    prefix = sum(h[:len(g)] == g for h, g in zip(replies, gold)) / len(test)
    exact = sum(h == g + [tok.eos_id] for h, g in zip(replies, gold)) / len(test)
    stopped = sum(h[-1] == tok.eos_id for h in replies) / len(test)
    print(f"EVIDENCE stop_rate={stopped:.3f} exact_match={exact:.3f} prefix_match={prefix:.3f}")


if __name__ == "__main__":
    main()
