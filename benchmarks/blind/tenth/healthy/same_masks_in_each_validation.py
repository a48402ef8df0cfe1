"""Masked words with a small BERT: validation draws the same masks each time in a forked random state, training never does."""

import argparse

import torch
from torch import nn
from transformers import BertConfig, BertForMaskedLM

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.003)
parser.add_argument("--steps", type=int, default=100)
args = parser.parse_args()
PAD, MASK, FIRST, WORDS = 0, 1, 2, 24


def make_sentences(count):
    """Words count upwards by steps of one or two from a start of their own, in a ring."""
    lengths = torch.randint(6, 15, (count, 1))
    start, step = torch.randint(WORDS, (count, 1)), torch.randint(1, 3, (count, 1))
    places = torch.arange(14)
    words = FIRST + (start + step * places) % WORDS
    return torch.where(places < lengths, words, PAD)


def mask_words(ids, share):
    chosen = (torch.rand(ids.shape) < share) & (ids != PAD)
    return torch.where(chosen, MASK, ids), torch.where(chosen, ids, -100)


def validate(model, ids):
    """The loss with masks that are always alike, by three shares; dropout is off, the random state is put back."""
    model.eval()
    with torch.random.fork_rng(devices=[]), torch.inference_mode():
        torch.manual_seed(12345)
        losses = []
        for share in (0.1, 0.3, 0.5):
            inputs, labels = mask_words(ids, share)
            losses.append(model(input_ids=inputs, attention_mask=(ids != PAD).long(), labels=labels).loss.item())
    model.train()
    return losses


def main():
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    config = BertConfig(vocab_size=FIRST + WORDS, hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
                        intermediate_size=96, max_position_embeddings=16, hidden_dropout_prob=0.02,
                        attention_probs_dropout_prob=0.0, initializer_range=0.1)
    model = BertForMaskedLM(config)
    sentences, held_out = make_sentences(1500), make_sentences(100)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.98))
    model.train()
    order, best, kept = torch.randperm(len(sentences)), float("inf"), None
    for step in range(args.steps):
        if (step + 1) * 32 > len(order):
            order = torch.cat([order, torch.randperm(len(sentences))])
        ids = sentences[order[step * 32:(step + 1) * 32]]
        longest = int((ids != PAD).sum(1).max())
        ids = ids[:, :longest]
        share = 0.15 + 0.25 * torch.rand(()).item()
        inputs, labels = mask_words(ids, share)
        if (labels == -100).all():
            continue
        loss = model(input_ids=inputs, attention_mask=(ids != PAD).long(), labels=labels).loss
        optimizer.zero_grad(set_to_none=False)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 20 == 19:
            losses = validate(model, held_out)
            print(f"step {step + 1}: loss {loss.item():.4f}, validation " + " ".join(f"{value:.4f}" for value in losses))
            if losses[1] < best:
                best, kept = losses[1], {name: value.clone() for name, value in model.state_dict().items()}
    if kept is not None:
        model.load_state_dict(kept)
    print("best: " + " ".join(f"{value:.4f}" for value in validate(model, held_out)))


main()

# SPDX-License-Identifier: Apache-2.0
