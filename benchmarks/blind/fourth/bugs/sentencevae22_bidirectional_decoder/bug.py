"""A sentence autoencoder with a latent code; its decoder is fed the words before the one that it predicts."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=5e-3)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
WORDS, LENGTH, START, LATENT = 20, 10, 0, 8


class SentenceVAE(nn.Module):
    def __init__(self, width=32, bidirectional=True):
        super().__init__()
        self.embed = nn.Embedding(WORDS, width)
        self.encoder = nn.GRU(width, width, batch_first=True, bidirectional=bidirectional)
        self.code = nn.Linear(width * (2 if bidirectional else 1), 2 * LATENT)
        self.decoder = nn.GRU(width + LATENT, width, batch_first=True, bidirectional=bidirectional)
        self.out = nn.Linear(width * (2 if self.decoder.bidirectional else 1), WORDS)
        self.drop = nn.Dropout(0.3)

    def encode(self, words):
        mean, logvar = self.code(self.encoder(self.embed(words))[0].mean(1)).chunk(2, -1)
        return mean, logvar

    def decode(self, inputs, z):
        x = torch.cat([self.drop(self.embed(inputs)), z[:, None].expand(-1, inputs.size(1), -1)], -1)
        return self.out(self.decoder(x)[0])

    def forward(self, words):
        mean, logvar = self.encode(words)
        z = mean + torch.randn_like(mean) * (0.5 * logvar).exp()
        inputs = torch.cat([torch.full_like(words[:, :1], START), words[:, :-1]], 1)
        return self.decode(inputs, z), mean, logvar


def sentences(n, follows):
    words = [torch.randint(1, WORDS, (n,))]
    for _ in range(LENGTH - 1):
        words.append(follows[words[-1], torch.randint(follows.size(1), (n,))])
    return torch.stack(words, 1)


def loss_of(model, words, weight):
    logits, mean, logvar = model(words)
    reconstruction = nn.functional.cross_entropy(logits.transpose(1, 2), words, reduction="none").sum(1).mean()
    divergence = -0.5 * (1 + logvar - mean ** 2 - logvar.exp()).sum(1).mean()
    return reconstruction + weight * divergence, reconstruction, divergence


torch.manual_seed(args.seed)
torch.set_num_threads(1)
follows = torch.randint(1, WORDS, (WORDS, 3))
model = SentenceVAE()
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
for step in range(args.steps):
    loss, reconstruction, divergence = loss_of(model, sentences(64, follows), min(1.0, step / args.steps))
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    optimizer.step()
    if step % 20 == 19:
        print(f"step {step}: reconstruction {reconstruction.item():.3f}, divergence {divergence.item():.3f}")
model.eval()
with torch.no_grad():
    reconstruction = loss_of(model, sentences(256, follows), 1.0)[1]
    z, words = torch.randn(64, LATENT), torch.full((64, 1), START)
    for _ in range(LENGTH):
        words = torch.cat([words, torch.multinomial(model.decode(words, z)[:, -1].softmax(-1), 1)], 1)
possible = (follows[words[:, 1:-1]] == words[:, 2:, None]).any(-1).float().mean()
print(f"EVIDENCE reconstruction {reconstruction:.3f}, {possible:.3f} of the generated pairs are possible")

# SPDX-License-Identifier: Apache-2.0
