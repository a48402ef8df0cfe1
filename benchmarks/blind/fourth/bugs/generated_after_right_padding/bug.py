"""A small GPT-2 learns to count; after each epoch it goes on with prompts of different lengths in batches."""

import argparse

import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader
from transformers import GPT2Config, GPT2LMHeadModel

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=3e-3)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
PAD, END, ANSWER = 10, 11, 2


def runs(n):
    data = []
    for start, by, length in zip(*(torch.randint(low, high, (n,)).tolist() for low, high in ((0, 10), (1, 4), (2, 9)))):
        words = (start + by * torch.arange(length + ANSWER)) % 10
        data.append((words[:length], torch.cat([words[length:], torch.tensor([END])])))
    return data


def train_collate(batch):
    words = pad_sequence([torch.cat(pair) for pair in batch], batch_first=True, padding_value=PAD)
    mask = (words != PAD).long()
    return {"input_ids": words, "attention_mask": mask, "labels": words.masked_fill(mask == 0, -100)}


def prompt_collate(batch):
    prompts = pad_sequence([p for p, _ in batch], batch_first=True, padding_value=PAD)
    return prompts, (prompts != PAD).long(), torch.stack([a[:ANSWER] for _, a in batch])


@torch.no_grad()
def generate(model, words, mask, n):
    for _ in range(n):
        positions = (mask.cumsum(1) - 1).clamp(min=0)
        logits = model(input_ids=words, attention_mask=mask, position_ids=positions).logits[:, -1]
        words = torch.cat([words, logits.argmax(-1, keepdim=True)], 1)
        mask = torch.cat([mask, torch.ones_like(mask[:, :1])], 1)
    return words[:, -n:]


def evaluate(model, loader):
    model.eval()
    right = torch.cat([(generate(model, p, mask, ANSWER) == a).all(1) for p, mask, a in loader]).float().mean().item()
    model.train()
    return right


torch.manual_seed(args.seed)
torch.set_num_threads(1)
config = GPT2Config(vocab_size=12, n_positions=16, n_embd=48, n_layer=2, n_head=4, bos_token_id=PAD, eos_token_id=END,
                    resid_pdrop=0.0, attn_pdrop=0.0, embd_pdrop=0.0)
model = GPT2LMHeadModel(config)
train_loader = DataLoader(runs(640), batch_size=32, shuffle=True, collate_fn=train_collate)
val_loader = DataLoader(runs(96), batch_size=24, collate_fn=prompt_collate)
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
for epoch in range(args.steps // len(train_loader)):
    for batch in train_loader:
        loss = model(**batch).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.3f}, {evaluate(model, val_loader):.3f} right")
last = torch.cat([mask[:, -1] for _, mask, _ in val_loader]).float().mean()
print(f"EVIDENCE {last:.3f} of the prompts end with a word, {evaluate(model, val_loader):.4f} right")

# SPDX-License-Identifier: Apache-2.0
