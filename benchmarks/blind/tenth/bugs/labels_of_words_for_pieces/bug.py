"""Names in sentences are tagged by a small BERT of transformers; long words are cut into pieces by a tokenizer."""

import argparse

import torch
from torch.utils.data import DataLoader
from transformers import BertConfig, BertForTokenClassification

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.002)
parser.add_argument("--steps", type=int, default=120)
args = parser.parse_args()
PAD, CLS, SEP, FIRST = 0, 1, 2, 3
SYLLABLES = ["ba", "do", "ki", "lu", "mer", "na", "os", "pi", "ra", "sun", "ti", "vor"]
INDEX = {syllable: FIRST + number for number, syllable in enumerate(SYLLABLES)}


def make_sentence():
    words, tags = [], []
    for _ in range(int(torch.randint(4, 9, ()))):
        count = int(torch.randint(1, 4, ()))
        word = [SYLLABLES[i] for i in torch.randint(len(SYLLABLES), (count,)).tolist()]
        words.append(word)
        tags.append(1 if word[0] in ("ba", "ki", "ra", "sun") else 2 if word[0] in ("os", "vor") else 0)
    return words, tags


def encode(words, tags):
    """Ids of the pieces, and a label for the first piece of each word; the others are not counted."""
    ids, word_ids = [CLS], [None]
    for number, word in enumerate(words):
        for piece in word:
            ids.append(INDEX[piece])
            word_ids.append(number)
    ids.append(SEP)
    word_ids.append(None)
    labels, previous = [], None
    for position, number in enumerate(word_ids):
        if number is None or number == previous:
            labels.append(-100)
        else:
            labels.append(tags[position - 1] if position <= len(tags) else -100)
        previous = number
    return ids, labels


def collate(batch):
    longest = max(len(ids) for ids, _ in batch)
    pad = lambda rows, value: torch.tensor([row + [value] * (longest - len(row)) for row in rows])
    ids, labels = pad([b[0] for b in batch], PAD), pad([b[1] for b in batch], -100)
    return {"input_ids": ids, "attention_mask": (ids != PAD).long(), "labels": labels}


def evaluate(model, loader):
    model.eval()
    right, count = 0, 0
    with torch.no_grad():
        for batch in loader:
            counted = batch["labels"] != -100
            answers = model(**batch).logits.argmax(-1)
            right += (answers == batch["labels"])[counted].sum().item()
            count += counted.sum().item()
    model.train()
    return right / count


def main():
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    config = BertConfig(vocab_size=FIRST + len(SYLLABLES), hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
                        intermediate_size=64, max_position_embeddings=40, num_labels=3)
    model = BertForTokenClassification(config)
    sentences = [encode(*make_sentence()) for _ in range(1000)]
    train = DataLoader(sentences[:800], batch_size=32, shuffle=True, collate_fn=collate)
    valid = DataLoader(sentences[800:], batch_size=50, collate_fn=collate)
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
            if step % 40 == 0:
                print(f"step {step}: loss {loss.item():.4f}, validation {evaluate(model, valid):.3f}")
            if step >= args.steps:
                break
    print(f"EVIDENCE right {evaluate(model, valid):.4f}, loss {loss.item():.4f}")


main()

# SPDX-License-Identifier: Apache-2.0
