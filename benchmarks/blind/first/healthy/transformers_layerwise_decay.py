"""A BERT of transformers with rates by layer, a frozen embedding and label smoothing by hand."""

import argparse

import torch
from transformers import BertConfig, BertForSequenceClassification, get_cosine_schedule_with_warmup

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.002)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
model = BertForSequenceClassification(BertConfig(vocab_size=40, hidden_size=32, num_hidden_layers=3, num_attention_heads=2,
                                                 intermediate_size=64, max_position_embeddings=24, num_labels=3))
model.bert.embeddings.requires_grad_(False)
groups = [{"params": [*model.bert.pooler.parameters(), *model.classifier.parameters()], "lr": args.lr}]
for depth, layer in enumerate(reversed(model.bert.encoder.layer)):
    groups.append({"params": layer.parameters(), "lr": args.lr * 0.7 ** (depth + 1)})
optimizer = torch.optim.AdamW(groups)
scheduler = get_cosine_schedule_with_warmup(optimizer, 5, args.steps)
model.train()
for step in range(args.steps):
    ids = torch.randint(4, 40, (16, 12))
    label = ids[:, 1] % 3
    mask = (torch.arange(12) < torch.randint(6, 13, (16, 1))).long()
    logits = model(input_ids=ids, attention_mask=mask).logits
    loss = torch.nn.functional.cross_entropy(logits, label, label_smoothing=0.1)
    loss.backward()
    torch.nn.utils.clip_grad_norm_([p for p in model.parameters() if p.requires_grad], 1.0)
    optimizer.step()
    scheduler.step()
    model.zero_grad(set_to_none=True)
print(f"loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
