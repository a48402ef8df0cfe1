"""Small causal transformer with rotary positions on sequences with lagged repeats."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=3e-3)
parser.add_argument("--steps", type=int, default=120)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)

VOCAB, LAG, T, DIM, HEADS = 16, 5, 40, 64, 4


def make_batch(n):
    """Each token repeats the one LAG places before it, nine times of ten."""
    x = torch.randint(0, VOCAB, (n, T + 1))
    copy = torch.rand(n, T + 1) < 0.9
    for t in range(LAG, T + 1):
        x[:, t] = torch.where(copy[:, t], x[:, t - LAG], x[:, t])
    return x[:, :-1], x[:, 1:]


class Rotary(nn.Module):
    def __init__(self, dim, base=10000.0):
        super().__init__()
        inv_freq = 1.0 / base ** (torch.arange(0, dim, 2).float() / dim)
        self.register_buffer("inv_freq", inv_freq, persistent=False)

    def forward(self, position_ids):
        freqs = position_ids[:, None].float() * self.inv_freq[None, :]
        emb = torch.repeat_interleave(freqs, 2, dim=-1)
        return emb.cos(), emb.sin()


def rotate_half(x):
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat((-x2, x1), dim=-1)


def apply_rotary(q, k, cos, sin):
    return q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.qkv = nn.Linear(DIM, 3 * DIM, bias=False)
        self.proj = nn.Linear(DIM, DIM)
        self.mlp = nn.Sequential(nn.Linear(DIM, 2 * DIM), nn.GELU(), nn.Linear(2 * DIM, DIM))

    def forward(self, x, cos, sin):
        b, t, _ = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, HEADS, DIM // HEADS).permute(2, 0, 3, 1, 4)
        q, k = apply_rotary(q, k, cos, sin)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(a.transpose(1, 2).reshape(b, t, DIM))
        return x + self.mlp(self.norm2(x))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, DIM)
        self.rotary = Rotary(DIM // HEADS)
        self.blocks = nn.ModuleList(Block() for _ in range(2))
        self.norm = nn.LayerNorm(DIM)
        self.head = nn.Linear(DIM, VOCAB, bias=False)

    def forward(self, ids, start=0):
        cos, sin = self.rotary(torch.arange(start, start + ids.size(1)))
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x, cos, sin)
        return self.head(self.norm(x))


model = Decoder()
opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, (s + 1) / 20))
for step in range(args.steps):
    x, y = make_batch(32)
    loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    sched.step()

model.eval()
with torch.no_grad():
    x, y = make_batch(96)
    near, far = model(x), model(x, 300)
scores = [(out.argmax(-1) == y)[:, LAG:].float().mean().item() for out in (near, far)]
drift = (near - far).abs().mean().item()
print(f"EVIDENCE logits move by {drift:.4f} when all positions shift by 300, accuracy {scores[0]:.3f} then {scores[1]:.3f}")
