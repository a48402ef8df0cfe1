"""A small transformer for counting whose layers are checkpointed together with their mask."""

import argparse

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.003)
parser.add_argument("--steps", type=int, default=36)
args = parser.parse_args()


class Model(nn.Module):
    def __init__(self, vocab=16, dim=32, depth=3):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.position = nn.Parameter(0.1 * torch.randn(20, dim))
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.0, batch_first=True, norm_first=True) for _ in range(depth))
        self.head = nn.Linear(dim, vocab)

    def forward(self, tokens):
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1])
        x = self.embed(tokens) + self.position[:tokens.shape[1]]
        for block in self.blocks:
            x = checkpoint(lambda h: block(h, src_mask=mask), x, use_reentrant=False)
        return self.head(x)


torch.manual_seed(args.seed)
torch.set_num_threads(1)
model = Model()
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
before = model.blocks[0].linear1.weight.detach().clone()
for step in range(args.steps):
    start, stride = torch.randint(0, 16, (16, 1)), torch.randint(1, 4, (16, 1))
    tokens = (start + stride * torch.arange(13)) % 16
    logits = model(tokens[:, :-1])
    loss = nn.functional.cross_entropy(logits.transpose(1, 2), tokens[:, 1:])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
moved = (model.blocks[0].linear1.weight - before).norm().item()
print(f"EVIDENCE the first block moved by {moved:.4f}, loss {loss:.3f}")

# SPDX-License-Identifier: Apache-2.0
