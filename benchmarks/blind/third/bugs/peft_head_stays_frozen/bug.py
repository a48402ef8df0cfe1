"""Low-rank adapters in a small BERT with a new head for classification."""

import argparse

import torch
from peft import LoraConfig, get_peft_model
from transformers import BertConfig, BertForSequenceClassification

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=24)
args = parser.parse_args()


def sentences(n, length=12):
    label = torch.randint(0, 3, (n,))
    tokens = torch.randint(4, 30, (n, length))
    tokens[:, 1:6] = 4 + tokens[:, 1:6] % 8 + 8 * label[:, None]
    return tokens, label


torch.manual_seed(args.seed)
torch.set_num_threads(1)
config = BertConfig(vocab_size=32, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64,
                    max_position_embeddings=16, num_labels=3)
base = BertForSequenceClassification(config)
lora = LoraConfig(r=4, lora_alpha=8, target_modules=["query", "value"])
model = get_peft_model(base, lora)
model.train()
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=args.lr)
before = {n: p.detach().clone() for n, p in model.named_parameters() if "classifier" in n}
for step in range(args.steps):
    tokens, label = sentences(16)
    loss = model(input_ids=tokens, labels=label).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
moved = sum((p - before[n]).norm().item() for n, p in model.named_parameters() if n in before)
print(f"EVIDENCE the classifier moved by {moved:.4f}, loss {loss:.3f}")

# SPDX-License-Identifier: Apache-2.0
