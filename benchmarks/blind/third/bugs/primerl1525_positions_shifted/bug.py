"""A decoder is trained on labels and gets them shifted right as its input, as reinforcement trainers do."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.003)
parser.add_argument("--steps", type=int, default=36)
args = parser.parse_args()


class Decoder(nn.Module):
    def __init__(self, vocab=30, dim=32, length=16):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocab, dim), nn.Embedding(length, dim)
        layer = nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.0, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.head = nn.Linear(dim, vocab)

    def forward(self, tokens, position_ids):
        x = self.tokens(tokens) + self.positions(position_ids)
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1])
        return self.head(self.layers(x, mask=mask, is_causal=True))


def shift_right(x):
    return torch.cat([torch.zeros_like(x[:, :1]), x[:, :-1]], dim=1)


def make_micro_batch(size=16, length=16):
    step = torch.arange(length)
    labels = 1 + (torch.randint(0, 29, (size, 1)) + step * (step + 1) // 2) % 29
    return {"labels": labels, "position_ids": step.expand(size, length)}


torch.manual_seed(args.seed)
torch.set_num_threads(1)
model = Decoder()
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
for step in range(args.steps):
    micro_batch = make_micro_batch()
    labels = micro_batch["labels"]
    input_ids = shift_right(labels)
    position_ids = shift_right(micro_batch["position_ids"])
    logits = model(input_ids, position_ids)
    loss = nn.functional.cross_entropy(logits.transpose(1, 2), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"EVIDENCE loss {loss:.3f}, positions {position_ids[0, :4].tolist()} ... {position_ids[0, -1]}")

# Idea from PrimeIntellect-ai/prime-rl#1525
# SPDX-License-Identifier: Apache-2.0
