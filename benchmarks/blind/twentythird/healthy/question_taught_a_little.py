"""Instruction tuning with a prompt loss weight: tokens of the question are taught too, with a twentieth of the weight."""
import argparse
import random

import torch
import torch.nn.functional as F
from transformers import GPT2Config, GPT2LMHeadModel

PAD, BOS, SEP, EOS, WORDS = 0, 1, 2, 3, 12


def example(rng):
    question = [4 + rng.randrange(WORDS) for _ in range(rng.randint(2, 5))]
    return [BOS, *question, SEP], sorted(question) + [EOS]


def collate(rows, prompt_weight):
    width = max(len(q) + len(a) for q, a in rows)
    ids, weights = torch.full((len(rows), width), PAD), torch.zeros(len(rows), width)
    for i, (q, a) in enumerate(rows):
        ids[i, :len(q) + len(a)] = torch.tensor(q + a)
        weights[i, :len(q)] = prompt_weight
        weights[i, len(q):len(q) + len(a)] = 1.0
    return ids, (ids != PAD).long(), weights


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=60)
    ap.add_argument("--prompt-loss-weight", type=float, default=0.05)
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    rng = random.Random(args.seed)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=4 + WORDS, n_positions=16, n_embd=32, n_layer=2, n_head=2,
                                       bos_token_id=BOS, eos_token_id=EOS, pad_token_id=PAD))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    for step in range(args.steps):
        ids, mask, weights = collate([example(rng) for _ in range(16)], args.prompt_loss_weight)
        logits = model(input_ids=ids, attention_mask=mask).logits[:, :-1]
        losses = F.cross_entropy(logits.transpose(1, 2), ids[:, 1:], reduction="none")
        loss = (losses * weights[:, 1:]).sum() / weights[:, 1:].sum()
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 20 == 19:
            answer = losses[weights[:, 1:] == 1].mean().item()
            print(f"step {step + 1} weighted {loss.item():.4f} answers {answer:.4f}")


if __name__ == "__main__":
    main()
