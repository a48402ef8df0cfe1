"""A small BERT is pretrained on masked words, saved, loaded with another head and fine-tuned in a loop of our own."""

import argparse
import os
import tempfile
import warnings

os.environ["TRANSFORMERS_VERBOSITY"] = "error"
warnings.filterwarnings("ignore")
import torch
from torch.utils.data import DataLoader
from transformers import BertConfig, BertForMaskedLM, BertForSequenceClassification
from transformers.utils import logging

logging.disable_progress_bar()
WORDS, LENGTH, MASK = 40, 14, 1


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--steps", type=int, default=120)
    return parser.parse_args()


def sentences(size):
    """Sentences about one of three subjects, each of which has words of its own."""
    subject = torch.randint(3, (size,))
    own = 4 + 12 * subject[:, None] + torch.randint(12, (size, LENGTH))
    other = torch.randint(4, WORDS, (size, LENGTH))
    return torch.where(torch.rand(size, LENGTH) < 0.6, own, other), subject


def pretrain(folder, lr, steps):
    config = BertConfig(vocab_size=WORDS, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
                        max_position_embeddings=LENGTH, hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.1)
    model = BertForMaskedLM(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    for step in range(1, steps + 1):
        words, _ = sentences(32)
        hidden = torch.rand(words.shape) < 0.2
        loss = model(input_ids=words.masked_fill(hidden, MASK), labels=words.masked_fill(~hidden, -100)).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            print(f"pretraining, step {step}: loss {loss.item():.4f}")
    model.save_pretrained(folder)


def finetune(folder, lr, steps):
    model = BertForSequenceClassification.from_pretrained(folder, num_labels=3)
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr / 2)
    train = list(zip(*sentences(300)))
    loader = DataLoader(train, batch_size=25, shuffle=True)
    step = 0
    while step < steps:
        for words, subject in loader:
            outputs = model(input_ids=words, labels=subject)
            optimizer.zero_grad()
            outputs.loss.backward()
            optimizer.step()
            step += 1
        print(f"fine-tuning, step {step}: loss {outputs.loss.item():.4f}")
    with torch.no_grad():
        noise = (model(input_ids=words).logits - model(input_ids=words).logits).abs().mean().item()
        model.eval()
        words, subject = sentences(400)
        right = (model(input_ids=words).logits.argmax(1) == subject).float().mean().item()
    return noise, right


def main():
    args = parse()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        pretrain(folder, args.lr, args.steps // 2)
        noise, right = finetune(folder, args.lr, args.steps - args.steps // 2)
    print(f"EVIDENCE two forwards of one batch as in training differ by {noise:.5f}, right {right:.3f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
