"""Prompt tuning: a frozen encoder, eight virtual words before the text and a new head are trained."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.02)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
WORDS, LENGTH, VIRTUAL = 24, 12, 8


class Encoder(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.width = width
        self.embed = nn.Embedding(WORDS, width, padding_idx=0)
        self.places = nn.Parameter(0.1 * torch.randn(LENGTH + VIRTUAL, width))
        layer = nn.TransformerEncoderLayer(width, 4, 64, dropout=0.0, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, embedded, mask):
        x = embedded + self.places[: embedded.shape[1]]
        return self.layers(x, src_key_padding_mask=mask == 0)


class PromptTuned(nn.Module):
    def __init__(self, encoder, classes):
        super().__init__()
        self.encoder = encoder.requires_grad_(False)
        self.prompt = nn.Parameter(0.5 * torch.randn(VIRTUAL, encoder.width))
        self.head = nn.Linear(encoder.width, classes)

    def forward(self, ids, mask):
        embedded = torch.cat([self.prompt.expand(len(ids), -1, -1), self.encoder.embed(ids)], dim=1)
        prefix = torch.ones(len(ids), VIRTUAL, dtype=mask.dtype)
        hidden = self.encoder(embedded, torch.cat([prefix, mask], dim=1))
        words = hidden[:, VIRTUAL:] * mask[..., None]
        return self.head(words.sum(1) / mask.sum(1, keepdim=True))


def texts(count):
    ids = torch.randint(1, WORDS, (count, LENGTH))
    length = torch.randint(5, LENGTH + 1, (count, 1))
    mask = (torch.arange(LENGTH) < length).long()
    ids = ids * mask
    return ids, mask, ((ids > WORDS // 2).sum(1) * 2 > mask.sum(1)).long()


torch.manual_seed(args.seed)
torch.set_num_threads(1)
model = PromptTuned(Encoder(), 2)
start = model.prompt.detach().clone()
trainable = [p for p in model.parameters() if p.requires_grad]
optimizer = torch.optim.AdamW(trainable, lr=args.lr, weight_decay=0.0)
ids, mask, labels = texts(600)
for step in range(args.steps):
    index = torch.randint(len(ids), (32,))
    loss = nn.functional.cross_entropy(model(ids[index], mask[index]), labels[index])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 19:
        print(f"step {step + 1}: loss {loss.item():.4f}, norm of the head {model.head.weight.norm():.3f}")
print(f"EVIDENCE the prompt moved by {(model.prompt - start).norm():.4f}, loss {loss.item():.4f}")

# SPDX-License-Identifier: Apache-2.0
