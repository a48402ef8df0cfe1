"""A small GPT-2 of transformers classifies short texts of unequal length in a loop of one's own."""

import argparse

import torch
from torch.utils.data import DataLoader
from transformers import GPT2Config, GPT2ForSequenceClassification

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.002)
parser.add_argument("--steps", type=int, default=150)
args = parser.parse_args()
PAD, END, WORDS = 0, 1, 40


def make_texts(count):
    """The class is told by whichever of three markers stands in the text."""
    texts = []
    for _ in range(count):
        length = int(torch.randint(4, 16, ()))
        words = torch.randint(5, WORDS, (length,))
        label = int(torch.randint(3, ()))
        words[int(torch.randint(length, ()))] = 2 + label
        texts.append((words.tolist(), label))
    return texts


def collate(batch):
    longest = max(len(words) for words, _ in batch)
    ids = [words + [PAD] * (longest - len(words)) for words, _ in batch]
    mask = [[1] * len(words) + [0] * (longest - len(words)) for words, _ in batch]
    return {"input_ids": torch.tensor(ids), "attention_mask": torch.tensor(mask),
            "labels": torch.tensor([label for _, label in batch])}


def evaluate(model, loader):
    model.eval()
    right, count = 0, 0
    with torch.no_grad():
        for batch in loader:
            right += (model(**batch).logits.argmax(-1) == batch["labels"]).sum().item()
            count += len(batch["labels"])
    model.train()
    return right / count


def main():
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    config = GPT2Config(vocab_size=WORDS, n_positions=24, n_embd=32, n_layer=2, n_head=2, num_labels=3,
                        bos_token_id=END, eos_token_id=END)
    model = GPT2ForSequenceClassification(config)
    model.config.pad_token_id = model.config.eos_token_id
    train = DataLoader(make_texts(1000), batch_size=32, shuffle=True, collate_fn=collate)
    valid_texts = sorted(make_texts(300), key=lambda text: len(text[0]))
    alone, together = DataLoader(valid_texts, 1, collate_fn=collate), DataLoader(make_texts(300), 50, collate_fn=collate)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    model.train()
    step = 0
    while step < args.steps:
        for batch in train:
            loss = model(**batch).loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % 50 == 0:
                print(f"step {step}: loss {loss.item():.4f}, validation {evaluate(model, together):.3f}")
            if step >= args.steps:
                break
    print(f"EVIDENCE right in batches {evaluate(model, together):.4f}, one by one {evaluate(model, alone):.4f}, loss {loss.item():.4f}")


main()

# SPDX-License-Identifier: Apache-2.0
