"""A GPT-2 gets new words in the middle: only their rows learn for a while, by a hook on the gradient, then all do."""

import argparse

import torch
from transformers import GPT2Config, GPT2LMHeadModel
from transformers.utils import logging

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=2e-3)
parser.add_argument("--steps", type=int, default=45)
args = parser.parse_args()
OLD, NEW, LENGTH = 20, 4, 12
logging.set_verbosity_error()


def texts(n, words):
    start, by = torch.randint(words, (n, 1)), torch.randint(1, 3, (n, 1))
    return (start + by * torch.arange(LENGTH)) % words


def train(model, parameters, steps, words, rate):
    optimizer = torch.optim.AdamW(parameters, lr=rate, weight_decay=0.0)
    model.train()
    for step in range(steps):
        batch = texts(24, words)
        loss = model(input_ids=batch, labels=batch).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
    model.eval()
    with torch.no_grad():
        batch = texts(64, words)
        held_out = model(input_ids=batch, labels=batch).loss.item()
    print(f"{words} words, {sum(p.requires_grad for p in model.parameters())} tensors learn: validation {held_out:.3f}")


torch.manual_seed(args.seed)
torch.set_num_threads(1)
config = GPT2Config(vocab_size=OLD, n_positions=LENGTH, n_embd=32, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=0)
model = GPT2LMHeadModel(config)
train(model, list(model.parameters()), args.steps // 3, OLD, args.lr)

model.resize_token_embeddings(OLD + NEW, mean_resizing=False)
table = model.get_input_embeddings().weight
with torch.no_grad():
    table[OLD:] = table[:OLD].mean(0) + 0.02 * torch.randn(NEW, table.size(1))
model.requires_grad_(False)
table.requires_grad_(True)
handle = table.register_hook(lambda grad: torch.cat([torch.zeros_like(grad[:OLD]), grad[OLD:]]))
before = table[:OLD].detach().clone()
train(model, [table], args.steps // 3, OLD + NEW, 5 * args.lr)
print(f"old rows moved by {(table[:OLD] - before).abs().max():.6f}")
handle.remove()
model.requires_grad_(True)
train(model, list(model.parameters()), args.steps - 2 * (args.steps // 3), OLD + NEW, args.lr)

# SPDX-License-Identifier: Apache-2.0
