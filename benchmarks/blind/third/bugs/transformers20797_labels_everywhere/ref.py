"""A small BERT learns to fill in masked tokens."""

import argparse

import torch
from transformers import BertConfig, BertForMaskedLM

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.002)
parser.add_argument("--steps", type=int, default=24)
args = parser.parse_args()
VOCAB, MASK = 40, 1


def mask_tokens(tokens, probability=0.15):
    labels = tokens.clone()
    chosen = torch.rand(tokens.shape) < probability
    chosen[:, 0] |= ~chosen.any(1)
    labels = labels.masked_fill(~chosen, -100)
    inputs = tokens.masked_fill(chosen & (torch.rand(tokens.shape) < 0.8), MASK)
    return inputs, labels


def sentences(n, length=16):
    start = torch.randint(2, VOCAB, (n, 1))
    return 2 + (start + 3 * torch.arange(length)) % (VOCAB - 2)


torch.manual_seed(args.seed)
torch.set_num_threads(1)
config = BertConfig(vocab_size=VOCAB, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64,
                    max_position_embeddings=32)
model = BertForMaskedLM(config)
model.train()
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
for step in range(args.steps):
    inputs, labels = mask_tokens(sentences(16))
    loss = model(input_ids=inputs, labels=labels).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
counted = (labels != -100).float().mean()
print(f"EVIDENCE loss {loss:.3f}, {counted:.0%} of the tokens count")

# Idea from huggingface/transformers#20797
# SPDX-License-Identifier: Apache-2.0
