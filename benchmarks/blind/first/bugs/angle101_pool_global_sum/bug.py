"""Sentence embeddings by mean pooling over tokens that are no padding, trained on pairs."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.003)
parser.add_argument("--steps", type=int, default=80)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)


class Encoder(nn.Module):
    def __init__(self, vocabulary=60, dim=32):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, dim, padding_idx=0)
        self.layer = nn.TransformerEncoderLayer(dim, 2, 64, dropout=0.0, batch_first=True)

    def forward(self, ids):
        mask = (ids != 0).float()
        hidden = self.layer(self.embed(ids), src_key_padding_mask=ids == 0)
        summed = (hidden * mask[:, :, None]).sum(dim=1)
        return summed / mask.sum()


def batch(n=32, length=12):
    topic = torch.randint(0, 5, (n,))
    ids = 1 + topic[:, None] * 11 + torch.randint(0, 11, (n, length))
    lengths = torch.randint(4, length + 1, (n,))
    return ids.masked_fill(torch.arange(length) >= lengths[:, None], 0), topic


encoder = Encoder()
head = nn.Linear(32, 5)
params = [*encoder.parameters(), *head.parameters()]
optimizer = torch.optim.AdamW(params, lr=args.lr)
for step in range(args.steps):
    ids, topic = batch()
    loss = F.cross_entropy(head(encoder(ids)), topic)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
with torch.no_grad():
    ids, _ = batch()
    alone, together = encoder(ids[:1]), encoder(ids)[:1]
print(f"EVIDENCE alone or in a batch an embedding has norm {alone.norm():.3f} or {together.norm():.3f}, loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
