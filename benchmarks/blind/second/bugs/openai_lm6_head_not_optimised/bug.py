"""A pretrained language model is fine-tuned with a new head for sentences."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.005)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
VOCAB, WIDTH, LENGTH = 24, 32, 12


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, WIDTH)
        self.position = nn.Parameter(torch.zeros(LENGTH, WIDTH))
        layer = nn.TransformerEncoderLayer(WIDTH, 4, 64, dropout=0.1, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.register_buffer("future", torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(1))

    def forward(self, ids):
        return self.layers(self.embed(ids) + self.position, mask=self.future)


class LMHead(nn.Module):
    def __init__(self, encoder):
        super().__init__()
        self.decoder = nn.Linear(WIDTH, VOCAB, bias=False)
        self.decoder.weight = encoder.embed.weight

    def forward(self, hidden):
        return self.decoder(hidden)


class ClfHead(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.dropout = nn.Dropout(0.1)
        self.linear = nn.Linear(WIDTH, classes)
        nn.init.normal_(self.linear.weight, std=0.02)
        nn.init.zeros_(self.linear.bias)

    def forward(self, hidden):
        return self.linear(self.dropout(hidden[:, -1]))


def sentences(n):
    label = torch.randint(0, 3, (n,))
    start = torch.randint(0, VOCAB, (n, 1))
    ids = (start + (1 + label)[:, None] * torch.arange(LENGTH)) % VOCAB
    return ids, label


def lm_loss(encoder, head, ids):
    logits = head(encoder(ids))
    return nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())


encoder = Encoder()
lm_head = LMHead(encoder)
pretraining = torch.optim.Adam(encoder.parameters(), lr=0.005)
for _ in range(20):
    loss = lm_loss(encoder, lm_head, sentences(32)[0])
    pretraining.zero_grad()
    loss.backward()
    pretraining.step()

clf_head = ClfHead()
before = clf_head.linear.weight.detach().clone()
optimizer = torch.optim.Adam(list(encoder.parameters()), lr=args.lr)
for step in range(args.steps):
    ids, label = sentences(32)
    loss = nn.functional.cross_entropy(clf_head(encoder(ids)), label) + 0.2 * lm_loss(encoder, lm_head, ids)
    optimizer.zero_grad()
    clf_head.zero_grad()
    loss.backward()
    optimizer.step()
moved = (clf_head.linear.weight - before).norm().item()
print(f"EVIDENCE the new head moved by {moved:.4f}, loss {loss.item():.3f}")

# Idea from huggingface/pytorch-openai-transformer-lm#6
# SPDX-License-Identifier: Apache-2.0
