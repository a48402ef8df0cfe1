"""An embedding model with a causal body: the state at the last word is the text's vector. Texts are padded on the left."""
import argparse

import torch
import torch.nn.functional as F
from torch import nn

VOCAB, LENGTH, TOPICS, PAD = 100, 14, 40, 0


class Block(nn.Module):
    def __init__(self, width, heads=4):
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
        self.heads = heads

    def forward(self, x, mask):
        b, t, c = x.shape
        q, k, v = self.qkv(self.norms[0](x)).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, c))
        return x + self.mlp(self.norms[1](x))


class Embedder(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.words = nn.Embedding(VOCAB, width)
        self.places = nn.Embedding(LENGTH, width)
        self.blocks = nn.ModuleList([Block(width) for _ in range(2)])

    def forward(self, ids):
        attention_mask = (ids != PAD).long()
        place = (attention_mask.cumsum(1) - 1).clamp(min=0)
        causal = torch.ones(ids.size(1), ids.size(1)).tril().bool()
        keep = causal & attention_mask[:, None, None, :].bool() | torch.eye(ids.size(1)).bool()
        bias = torch.zeros(keep.shape).masked_fill(~keep, -1e4)
        x = self.words(ids) + self.places(place)
        for block in self.blocks:
            x = block(x, bias)
        return F.normalize(last_token_pool(x, attention_mask), dim=-1)


def last_token_pool(hidden, attention_mask):
    left_padded = bool(attention_mask[:, -1].all())
    if left_padded:
        return hidden[:, -1]
    last = attention_mask.sum(1) - 1
    return hidden[torch.arange(len(hidden)), last]


def pad(texts):
    longest = max(len(t) for t in texts)
    return torch.stack([F.pad(t, (longest - len(t), 0), value=PAD) for t in texts])


def pairs(gen, n=24):
    """Passages of different topics, and for each a question of two to four words of its topic."""
    words = torch.randint(1, VOCAB, (TOPICS, 6), generator=torch.Generator().manual_seed(12))
    questions, passages = [], []
    for topic in torch.randperm(TOPICS, generator=gen)[:n]:
        size = int(torch.randint(5, LENGTH + 1, (), generator=gen))
        own = words[topic][torch.randint(0, 6, (size,), generator=gen)]
        noise = torch.randint(1, VOCAB, (size,), generator=gen)
        passages.append(torch.where(torch.rand(size, generator=gen) < 0.6, own, noise))
        questions.append(words[topic][torch.randperm(6, generator=gen)[:int(torch.randint(2, 5, (), generator=gen))]])
    return questions, passages


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=4e-3)
    parser.add_argument("--steps", type=int, default=160)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    model = Embedder()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    gen = torch.Generator().manual_seed(args.seed + 30)
    for step in range(args.steps):
        questions, passages = pairs(gen)
        scores = model(pad(questions)) @ model(pad(passages)).T / 0.1
        loss = F.cross_entropy(scores, torch.arange(len(scores)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if (step + 1) % 20 == 0:
            print(f"step {step + 1} loss {loss.item():.4f}")
    model.eval()
    gen, cosine, hits = torch.Generator().manual_seed(888), 0.0, 0.0
    with torch.no_grad():
        for _ in range(5):
            questions, passages = pairs(gen, TOPICS)
            q, p = model(pad(questions)), model(pad(passages))
            alone = torch.cat([model(text[None]) for text in passages])
            cosine += (p * alone).sum(-1).mean().item() / 5
            hits += ((q @ p.T).argmax(1) == torch.arange(TOPICS)).float().mean().item() / 5
    print(f"EVIDENCE batched_like_alone={cosine:.4f} recall_at_1={hits:.4f}")


if __name__ == "__main__":
    main()
