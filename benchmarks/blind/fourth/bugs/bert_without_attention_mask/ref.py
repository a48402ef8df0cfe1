"""A small BERT classifies sentences of many lengths, padded to the longest of their batch."""

import argparse

import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader
from transformers import BertConfig, BertForSequenceClassification, get_linear_schedule_with_warmup

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=2e-3)
parser.add_argument("--steps", type=int, default=72)
args = parser.parse_args()
PAD, CLS, WORDS, CLASSES = 0, 1, 64, 3


def reviews(n):
    """Most words say nothing; those that do belong to the class."""
    data = []
    for label in torch.randint(CLASSES, (n,)).tolist():
        words = torch.randint(2 + 6 * CLASSES, WORDS, (torch.randint(4, 24, (1,)).item(),))
        said = torch.rand(len(words)) < 0.25
        said[0] = True
        words[said] = 2 + 6 * label + torch.randint(6, (int(said.sum()),))
        data.append((torch.cat([torch.tensor([CLS]), words]), label))
    return data


def collate(batch):
    words = pad_sequence([w for w, _ in batch], batch_first=True, padding_value=PAD)
    return {"input_ids": words, "attention_mask": (words != PAD).long(), "labels": torch.tensor([label for _, label in batch])}


def run(model, batch):
    return model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], labels=batch["labels"])


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    right = sum((run(model, batch).logits.argmax(1) == batch["labels"]).sum().item() for batch in loader)
    model.train()
    return right / len(loader.dataset)


@torch.no_grad()
def effect_of_company(model, data):
    """How much a short sentence's logits change when a long one is in its batch."""
    model.eval()
    short, long = min(data, key=lambda d: len(d[0])), max(data, key=lambda d: len(d[0]))
    return (run(model, collate([short, long])).logits[0] - run(model, collate([short])).logits[0]).abs().max().item()


torch.manual_seed(args.seed)
torch.set_num_threads(1)
config = BertConfig(vocab_size=WORDS, hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96,
                    max_position_embeddings=32, num_labels=CLASSES, pad_token_id=PAD)
model = BertForSequenceClassification(config)
train_loader = DataLoader(reviews(384), batch_size=16, shuffle=True, collate_fn=collate)
val_loader = DataLoader(reviews(96), batch_size=32, collate_fn=collate)
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
scheduler = get_linear_schedule_with_warmup(optimizer, 6, args.steps)
for epoch in range(args.steps // len(train_loader)):
    for batch in train_loader:
        outputs = run(model, batch)
        optimizer.zero_grad()
        outputs.loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
    print(f"epoch {epoch}: loss {outputs.loss.item():.3f}, accuracy {evaluate(model, val_loader):.3f}")
company = effect_of_company(model, val_loader.dataset)
print(f"EVIDENCE logits change by {company:.4f} with the padding, last loss {outputs.loss.item():.4f}")

# SPDX-License-Identifier: Apache-2.0
