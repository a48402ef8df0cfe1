"""Character-level language model that reads a long stream in segments and keeps the last segment's states as memory."""
import argparse
import math

import torch
from torch import nn
from torch.nn import functional as F

ap = argparse.ArgumentParser()
ap.add_argument("--seed", type=int, default=0)
ap.add_argument("--lr", type=float, default=4e-3)
ap.add_argument("--steps", type=int, default=300)
cfg = ap.parse_args()

torch.manual_seed(cfg.seed)
torch.set_num_threads(1)
N_SYM, SEG, STREAMS, WIDTH, HEADS = 20, 16, 32, 48, 4


def make_stream(length, rng):
    """Words of three to five symbols from a lexicon, with a word repeated now and then."""
    lex_rng = torch.Generator().manual_seed(5)
    lexicon = [torch.randint(1, N_SYM, (3 + i % 3,), generator=lex_rng) for i in range(40)]
    parts, total, last = [], 0, 0
    while total < length:
        if torch.rand(1, generator=rng).item() > 0.3:
            last = int(torch.randint(0, len(lexicon), (1,), generator=rng))
        parts += [lexicon[last], torch.zeros(1, dtype=torch.long)]
        total += len(lexicon[last]) + 1
    return torch.cat(parts)[:length]


class MemoryAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.to_q = nn.Linear(WIDTH, WIDTH, bias=False)
        self.to_kv = nn.Linear(WIDTH, 2 * WIDTH, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH)

    def split(self, x):
        return x.unflatten(-1, (HEADS, -1)).transpose(1, 2)

    def rotate(self, x, start):
        half = x.size(-1) // 2
        freq = torch.exp(-math.log(1000.0) * torch.arange(half) / half)
        angle = torch.arange(start, start + x.size(-2))[:, None] * freq
        a, b = x[..., :half], x[..., half:]
        return torch.cat([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], -1)

    def forward(self, x, memory):
        context = torch.cat([memory, x], dim=1)
        q = self.split(self.to_q(x))
        k, v = map(self.split, self.to_kv(context).chunk(2, dim=-1))
        n_q, n_k = q.size(-2), k.size(-2)
        q, k = self.rotate(q, n_k - n_q), self.rotate(k, 0)
        visible = torch.ones(n_q, n_k, dtype=torch.bool).tril(diagonal=n_k - n_q)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=visible)
        return self.out(y.transpose(1, 2).flatten(2))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attn = MemoryAttention()
        self.ff = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))

    def forward(self, x, memory):
        x = x + self.attn(self.n1(x), self.n1(memory))
        return x + self.ff(self.n2(x))


class SegmentLM(nn.Module):
    def __init__(self, depth=2):
        super().__init__()
        self.emb = nn.Embedding(N_SYM, WIDTH)
        self.layers = nn.ModuleList([Layer() for _ in range(depth)])
        self.head = nn.Linear(WIDTH, N_SYM)

    def forward(self, ids, memories):
        x, kept = self.emb(ids), []
        for layer, memory in zip(self.layers, memories):
            kept.append(x.detach())
            x = layer(x, memory)
        return self.head(x), kept

    def blank_memory(self, n):
        return [torch.zeros(n, 0, WIDTH) for _ in self.layers]


def segments(stream, n_rows):
    """Rows that go on from segment to segment, as in the loaders of recurrent language models."""
    usable = (len(stream) - 1) // n_rows * n_rows
    x, y = stream[:usable].view(n_rows, -1), stream[1 : usable + 1].view(n_rows, -1)
    for i in range(0, x.size(1) - SEG + 1, SEG):
        yield x[:, i : i + SEG], y[:, i : i + SEG]


rng = torch.Generator().manual_seed(100 + cfg.seed)
train, valid = make_stream(30000, rng), make_stream(6000, torch.Generator().manual_seed(77))
model = SegmentLM()
opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=0.01)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, cfg.steps)

step = 0
while step < cfg.steps:
    memories = model.blank_memory(STREAMS)
    for x, y in segments(train, STREAMS):
        logits, memories = model(x, memories)
        loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
        step += 1
        if step % 60 == 0:
            print(f"{step:4d} loss {loss.item():.3f}")
        if step >= cfg.steps:
            break

model.eval()
with torch.no_grad():
    memories, losses = model.blank_memory(8), []
    for x, y in segments(valid, 8):
        logits, memories = model(x, memories)
        losses.append(F.cross_entropy(logits.flatten(0, 1), y.flatten(), reduction="none").view_as(y))
    nll = torch.stack(losses)
print(f"EVIDENCE held-out nats {nll.mean().item():.3f}, first segment {nll[0].mean().item():.3f}, later {nll[1:].mean().item():.3f}")
