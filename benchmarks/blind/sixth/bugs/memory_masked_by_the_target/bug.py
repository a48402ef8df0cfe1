"""A small encoder-decoder turns words into their successors; sources and targets are padded to one length."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.002)
parser.add_argument("--steps", type=int, default=70)
args = parser.parse_args()
WORDS, LENGTH, PAD, START = 20, 12, 0, 1


class Translator(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.embed = nn.Embedding(WORDS, width, padding_idx=PAD)
        self.places = nn.Embedding(LENGTH, width)
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(width, 4, 64, 0.0, batch_first=True), 1,
                                             enable_nested_tensor=False)
        self.decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(width, 4, 64, 0.0, batch_first=True), 1)
        self.head = nn.Linear(width, WORDS)

    def forward(self, source, target):
        source_pad, target_pad = source == PAD, target == PAD
        places = self.places(torch.arange(LENGTH))
        memory = self.encoder(self.embed(source) + places, src_key_padding_mask=source_pad)
        future = torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(1)
        hidden = self.decoder(self.embed(target) + places, memory, tgt_mask=future, tgt_key_padding_mask=target_pad,
                              memory_key_padding_mask=target_pad)
        return self.head(hidden)


def sentences(count):
    """Every second word of the source, shifted by one in the vocabulary, is the target."""
    source = torch.full((count, LENGTH), PAD)
    target = torch.full((count, LENGTH + 1), PAD)
    target[:, 0] = START
    for row in range(count):
        length = int(torch.randint(4, LENGTH + 1, ()))
        source[row, :length] = torch.randint(2, WORDS, (length,))
        words = source[row, :length:2]
        target[row, 1:1 + len(words)] = (words - 1) % (WORDS - 2) + 2
    return source, target


def right(model, source, target):
    model.eval()
    with torch.no_grad():
        guess = model(source, target[:, :-1]).argmax(-1)
    model.train()
    real = target[:, 1:] != PAD
    return (guess == target[:, 1:])[real].float().mean().item()


torch.manual_seed(args.seed)
torch.set_num_threads(1)
source, target = sentences(1200)
valid = sentences(200)
model = Translator()
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.98))
criterion = nn.CrossEntropyLoss(ignore_index=PAD)
for step in range(args.steps):
    index = torch.randint(len(source), (48,))
    logits = model(source[index], target[index, :-1])
    loss = criterion(logits.flatten(0, 1), target[index, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if (step + 1) % 20 == 0:
        print(f"step {step + 1}: loss {loss.item():.4f}")
print(f"EVIDENCE loss {loss.item():.4f}, {right(model, *valid):.4f} of the words are right")

# SPDX-License-Identifier: Apache-2.0
