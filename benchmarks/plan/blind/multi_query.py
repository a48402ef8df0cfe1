"""bigcode Megatron-LM #36, #37: multi-query attention has one key and value head, which every tensor rank holds whole.
Its gradient is a sum over the query heads of all ranks, which nothing takes."""
import torch
import torch.nn as nn
import torch.nn.functional as F

from parts import arguments, enter, leave

VOCABULARY, WIDTH, HEADS, SIZE, BATCH, LENGTH, LAYERS = 19, 10, 6, 4, 3, 7, 2


class MultiQuery(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.args, self.heads = args, HEADS // args.tp
        self.norm = nn.LayerNorm(WIDTH)
        self.q = nn.Linear(WIDTH, self.heads * SIZE, bias=False)
        self.kv = nn.Linear(WIDTH, 2 * SIZE, bias=False)
        self.out = nn.Linear(self.heads * SIZE, WIDTH, bias=False)

    def forward(self, x):
        group = self.args.group.get("tp")
        x = self.norm(x)
        kv = self.kv(enter(x, group) if self.args.bug else x)  # place
        if not self.args.bug:
            kv = enter(kv, group)
        k, v = kv.unsqueeze(1).chunk(2, -1)
        q = self.q(enter(x, group)).unflatten(-1, (self.heads, SIZE)).transpose(1, 2)
        scores = (q @ k.transpose(2, 3)) / SIZE ** 0.5  # place
        later = torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(1)
        weights = scores.masked_fill(later, float("-inf")).softmax(-1)
        return leave(self.out((weights @ v).transpose(1, 2).flatten(2)), group)  # place


class Model(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(MultiQuery(args) for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens):
        x = self.embed(tokens)
        for layer in self.layers:
            x = x + layer(x)
        return self.head(x)


def main():
    args = arguments("tp")
    torch.manual_seed(1)
    model = Model(args)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for step in range(5):
        text = torch.arange(BATCH * (LENGTH + 1)).view(BATCH, -1) * (step + 2) % VOCABULARY
        optimizer.zero_grad()
        F.cross_entropy(model(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten()).backward()
        optimizer.step()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
