"""Late interaction retrieval: queries and documents as bags of token vectors, scored by the best cosine per query token."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=5e-3)
parser.add_argument("--steps", type=int, default=250)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)

VOCAB, TOPICS, Q_LEN, D_LEN, DIM = 200, 300, 6, 20, 24
SYNONYM = torch.randperm(VOCAB - 1) + 1  # queries use another word for the same thing
TOPIC_WORDS = torch.stack([torch.randperm(VOCAB - 1)[:30] for _ in range(TOPICS)])
COMMON = 1.0 / torch.arange(1, VOCAB).float()


def sample_pairs(n):
    """A document mixes words of its topic with common words; the query asks for some of them; 0 pads."""
    topic = torch.randint(0, TOPICS, (n,))
    words = TOPIC_WORDS[topic].gather(1, torch.rand(n, 30).argsort(1)[:, :D_LEN])
    filler = torch.multinomial(COMMON, n * D_LEN, replacement=True).view(n, D_LEN)
    docs = torch.where(torch.rand(n, D_LEN) < 0.2, filler, words)
    picked = docs.gather(1, torch.rand(n, D_LEN).argsort(1)[:, :Q_LEN])
    length = torch.randint(3, Q_LEN + 1, (n, 1))
    queries = SYNONYM[picked].clamp(max=VOCAB - 2) + 1
    docs = docs + 1
    queries = queries.masked_fill(torch.arange(Q_LEN) >= length, 0)
    docs = docs.masked_fill(torch.arange(D_LEN) >= torch.randint(12, D_LEN + 1, (n, 1)), 0)
    return queries, docs


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(VOCAB + 1, 48, padding_idx=0)
        self.mix = nn.GRU(48, 32, batch_first=True, bidirectional=True)
        self.proj = nn.Linear(48 + 64, DIM, bias=False)

    def forward(self, tokens):
        words = self.table(tokens)
        context, _ = self.mix(words)
        vectors = self.proj(torch.cat([words, context], dim=-1))
        return F.normalize(vectors), tokens != 0


class LateInteraction(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.doc = Encoder(), Encoder()
        self.scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, queries, docs):
        q, q_mask = self.query(queries)
        d, d_mask = self.doc(docs)
        cosine = torch.einsum("aqe,bde->abqd", q, d)
        cosine = cosine.masked_fill(~d_mask[None, :, None, :], -1e4)
        best = cosine.amax(-1) * q_mask[:, None, :]
        return self.scale.exp() * best.sum(-1) / q_mask.sum(-1)[:, None]


model = LateInteraction()
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=args.lr, total_steps=args.steps, pct_start=0.1)
model.train()
for step in range(args.steps):
    queries, docs = sample_pairs(48)
    scores = model(queries, docs)
    target = torch.arange(len(scores))
    loss = 0.5 * (F.cross_entropy(scores, target) + F.cross_entropy(scores.t(), target))
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    scheduler.step()
    if step % 100 == 99:
        print(f"step {step + 1}: loss {loss.item():.4f}, scale {model.scale.exp().item():.2f}")

model.eval()
with torch.no_grad():
    queries, docs = sample_pairs(300)
    scores = model(queries, docs)
    rank = (scores > scores.diag()[:, None]).sum(1)
    vectors, mask = model.doc(docs)
    lengths = vectors[mask].norm(dim=-1)
    highest = (scores / model.scale.exp()).max()
print(f"recall@1 {(rank < 1).float().mean():.3f}, recall@10 {(rank < 10).float().mean():.3f}, last loss {loss.item():.4f}")
print(f"EVIDENCE lengths of token vectors {lengths.mean():.3f} +- {lengths.std():.3f}, highest mean cosine {highest:.3f}, mrr {(1 / (rank + 1)).mean():.3f}")
