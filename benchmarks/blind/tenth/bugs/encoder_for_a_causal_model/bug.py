"""A small language model out of BERT's parts, as in encoder-decoder recipes: next words, then free writing."""
import argparse

import torch
from transformers import BertConfig, BertLMHeadModel
from transformers.utils import logging

logging.set_verbosity_error()
parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=2e-3)
parser.add_argument("--steps", type=int, default=90)
WORDS, LENGTH = 24, 16


class Text:
    """Each word follows from the two before it."""

    def __init__(self):
        self.next = torch.randint(WORDS, (8, WORDS))

    def follow(self, two_back, last):
        return self.next[two_back % 8, last]

    def batch(self, count):
        text = torch.randint(WORDS, (count, LENGTH))
        for t in range(2, LENGTH):
            usual = self.follow(text[:, t - 2], text[:, t - 1])
            text[:, t] = torch.where(torch.rand(count) < 0.9, usual, text[:, t])
        return text


def build():
    config = BertConfig(
        vocab_size=WORDS, hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96,
        max_position_embeddings=32, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )
    return BertLMHeadModel(config)


@torch.no_grad()
def free_writing(model, text, count=200, words=8):
    """How many of the words that are written follow from the two before?"""
    model.eval()
    written = text.batch(count)[:, :6]
    right = 0
    for _ in range(words):
        word = model(input_ids=written).logits[:, -1].argmax(-1)
        right += (word == text.follow(written[:, -2], written[:, -1])).sum().item()
        written = torch.cat([written, word[:, None]], 1)
    model.train()
    return right / (count * words)


def main():
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    text, model = Text(), build()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    for step in range(1, args.steps + 1):
        ids = text.batch(48)
        logits = model(input_ids=ids).logits
        loss = torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 30 == 0:
            print(f"step {step}: loss {loss.item():.4f}")
    print(f"EVIDENCE last loss {loss.item():.4f}, right words in free writing {free_writing(model, text):.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
