"""An encoder with relative positions labels each frame by the frame before it."""
import argparse

import torch
from torch import nn


class RelPosEnc(nn.Module):
    """Sinusoids of distances: rows run from the farthest past to the farthest future."""

    def __init__(self, dim):
        super().__init__()
        self.dim = dim
        self.register_buffer("inv_freq", torch.exp(torch.arange(0, dim, 2) * -(torch.log(torch.tensor(100.0)) / dim)))

    def forward(self, length):
        positions = torch.arange(length).float()[:, None]
        pe_past, pe_future = torch.empty(length, self.dim), torch.empty(length, self.dim)
        sinusoids = torch.sin(positions * self.inv_freq)
        pe_past[:, 0::2] = sinusoids
        pe_past[:, 1::2] = torch.cos(positions * self.inv_freq)
        pe_future[:, 0::2] = sinusoids
        pe_future[:, 1::2] = torch.cos(-positions * self.inv_freq)
        return torch.cat([pe_past.flip(0), pe_future[1:]])


class RelAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.width = heads, dim // heads
        self.qkv, self.pos, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim, bias=False), nn.Linear(dim, dim)
        self.u, self.v = nn.Parameter(torch.zeros(heads, self.width)), nn.Parameter(torch.zeros(heads, self.width))

    def forward(self, x, pe):
        b, n, d = x.shape
        q, k, v = (t.view(b, n, self.heads, self.width) for t in self.qkv(x).chunk(3, -1))
        r = self.pos(pe).view(-1, self.heads, self.width)
        content = torch.einsum("bihd,bjhd->bhij", q + self.u, k)
        place = torch.einsum("bihd,rhd->bhir", q + self.v, r)
        distance = torch.arange(n)[None] - torch.arange(n)[:, None] + n - 1
        place = place.gather(3, distance.expand(b, self.heads, n, n))
        weights = ((content + place) / self.width ** 0.5).softmax(-1)
        return self.out(torch.einsum("bhij,bjhd->bihd", weights, v).reshape(b, n, d))


class Encoder(nn.Module):
    def __init__(self, symbols=8, dim=32):
        super().__init__()
        self.embed, self.encoding = nn.Embedding(symbols, dim), RelPosEnc(dim)
        self.layers = nn.ModuleList([RelAttention(dim, 4) for _ in range(2)])
        self.norms = nn.ModuleList([nn.LayerNorm(dim) for _ in range(2)])
        self.head = nn.Linear(dim, symbols)

    def forward(self, ids):
        x, pe = self.embed(ids), self.encoding(ids.shape[1])
        for layer, norm in zip(self.layers, self.norms):
            x = x + layer(norm(x), pe)
        return self.head(x)


parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.004)
parser.add_argument("--steps", type=int, default=250)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
model = Encoder()
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, args.lr, total_steps=args.steps)


def frames(count, length=14):
    ids = torch.randint(8, (count, length))
    return ids, ids.roll(1, dims=1)


for step in range(args.steps):
    ids, labels = frames(32)
    loss = nn.functional.cross_entropy(model(ids)[:, 1:].flatten(0, 1), labels[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
    if step % 50 == 49:
        print(f"step {step + 1}: loss {loss.item():.4f}")
model.eval()
with torch.no_grad():
    ids, labels = frames(300)
    right = (model(ids).argmax(-1) == labels)[:, 1:].float().mean().item()
    table = model.encoding(14)
print(f"EVIDENCE right {right:.4f}; one ahead and one behind differ by {(table[12] - table[14]).norm().item():.4f}")

# SPDX-License-Identifier: Apache-2.0
