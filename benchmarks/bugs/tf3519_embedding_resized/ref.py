"""A vocabulary grows by special tokens: the new embedding must be what the optimizer holds."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
torch.set_num_threads(1)


class Tagger(nn.Module):
    def __init__(self, vocab, dim=24):
        super().__init__()
        self.embeddings = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.classifier = nn.Linear(dim, 4)

    def resize_token_embeddings(self, size):
        old = self.embeddings
        self.embeddings = nn.Embedding(size, old.embedding_dim)
        with torch.no_grad():
            self.embeddings.weight[: old.num_embeddings] = old.weight

    def forward(self, ids):
        return self.classifier(self.rnn(self.embeddings(ids))[0])


model = Tagger(vocab=30)
model.resize_token_embeddings(34)
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
before = model.embeddings.weight.detach().clone()
losses = []
for step in range(24):
    ids = torch.randint(0, 34, (16, 12))
    loss = F.cross_entropy(model(ids).flatten(0, 1), ids.flatten() % 4)
    model.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
change = (model.embeddings.weight - before).abs().max().item()
print(f"EVIDENCE embedding_change={change:.6f} loss {losses[0]:.4f}->{losses[-1]:.4f}")

# SPDX-License-Identifier: Apache-2.0
