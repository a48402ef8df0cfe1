"""A small GPT-2 of transformers learns to count up and then to stop."""

import argparse
import warnings

import torch
from transformers import GPT2Config, GPT2LMHeadModel

warnings.filterwarnings("ignore")
parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.003)
parser.add_argument("--steps", type=int, default=50)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
END, PAD, VOCAB, LENGTH = 20, 20, 22, 12


class Collator:
    """Pads to the longest and makes the labels; the model shifts them."""

    def __init__(self, pad):
        self.pad = pad

    def __call__(self, sequences):
        longest = max(len(s) for s in sequences)
        ids = torch.full((len(sequences), longest), self.pad)
        mask = torch.zeros(len(sequences), longest, dtype=torch.long)
        for i, s in enumerate(sequences):
            ids[i, : len(s)] = torch.tensor(s)
            mask[i, : len(s)] = 1
        labels = ids.clone()
        labels[ids == self.pad] = -100
        return {"input_ids": ids, "attention_mask": mask, "labels": labels}


def sequence():
    first = int(torch.randint(0, 16, ()))
    n = 3 + first % 4
    return [(first + i) % END for i in range(n)] + [END]


def stops(model, n=64):
    model.eval()
    stopped = 0
    with torch.no_grad():
        for _ in range(n):
            s = sequence()
            ids = torch.tensor([s[:2]])
            for _ in range(LENGTH):
                best = model(input_ids=ids).logits[0, -1].argmax()
                ids = torch.cat([ids, best.view(1, 1)], 1)
                if best == END:
                    stopped += 1
                    break
    return stopped / n


def main():
    config = GPT2Config(vocab_size=VOCAB, n_positions=32, n_embd=48, n_layer=2, n_head=4, bos_token_id=None,
                        eos_token_id=END, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
    model = GPT2LMHeadModel(config)
    collate = Collator(PAD)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    model.train()
    for step in range(args.steps):
        batch = collate([sequence() for _ in range(32)])
        loss = model(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    print(f"EVIDENCE {stops(model, 24):.2f} of the answers come to an end, loss {loss.item():.3f}")


main()

# Idea from huggingface/trl#976, huggingface/transformers#23530
# SPDX-License-Identifier: Apache-2.0
