"""A small T5 learns to reverse short lists; after each epoch it generates answers."""

import argparse

import torch
from torch.utils.data import DataLoader
from transformers import Adafactor, T5Config, T5ForConditionalGeneration

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=24)
args = parser.parse_args()
PAD, EOS = 0, 1


def collate(lists):
    inputs = [torch.tensor([*x, EOS]) for x in lists]
    labels = [torch.tensor([*reversed(x), EOS]) for x in lists]
    inputs = torch.nn.utils.rnn.pad_sequence(inputs, True, PAD)
    return {"input_ids": inputs, "attention_mask": (inputs != PAD).long(),
            "labels": torch.nn.utils.rnn.pad_sequence(labels, True, -100)}


torch.manual_seed(args.seed)
torch.set_num_threads(1)
config = T5Config(vocab_size=16, d_model=32, d_kv=16, d_ff=64, num_layers=1, num_heads=2, dropout_rate=0.05,
                  decoder_start_token_id=PAD)
model = T5ForConditionalGeneration(config)
for name, parameter in model.named_parameters():
    if "relative_attention_bias" in name:
        parameter.requires_grad = False
data = [torch.randint(2, 16, (int(torch.randint(2, 6, ())),)).tolist() for _ in range(12 * args.steps // 2)]
loader = DataLoader(data, batch_size=12, shuffle=True, collate_fn=collate)
optimizer = Adafactor([p for p in model.parameters() if p.requires_grad], lr=args.lr, relative_step=False, scale_parameter=False)
for epoch in range(2):
    model.train()
    for batch in loader:
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    model.eval()
    with torch.no_grad():
        answer = model.generate(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], max_new_tokens=6, num_beams=2)
    length = min(answer.shape[1] - 1, batch["labels"].shape[1])
    hits = (answer[:, 1:1 + length] == batch["labels"][:, :length]).float().mean()
print(f"loss {loss:.3f}, tokens that fit {hits:.2f}")

# SPDX-License-Identifier: Apache-2.0
