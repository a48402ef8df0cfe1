"""Packed training of a small decoder: several short documents in a row, positions begin anew with each of them."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

SEP, FIRST, LETTERS = 0, 1, 12
VOCAB, DOC, PER_ROW = FIRST + LETTERS, 7, 4
IGNORE = -100


def make_families(count, gen):
    """A family is a random word; its documents are noisy copies of that word."""
    return torch.randint(FIRST, VOCAB, (count, DOC - 1), generator=gen)


def pack(families, rows, gen):
    ids, labels = [], []
    for _ in range(rows):
        word = families[int(torch.randint(0, len(families), (1,), generator=gen))]
        row, target = [], []
        for _ in range(PER_ROW):
            noise = torch.rand(DOC - 1, generator=gen) < 0.1
            copy = torch.where(noise, torch.randint(FIRST, VOCAB, (DOC - 1,), generator=gen), word)
            doc = [SEP, *copy.tolist()]
            row += doc
            target += doc[1:] + [IGNORE]
        ids.append(row)
        labels.append(target)
    position_ids = torch.arange(DOC).repeat(PER_ROW).expand(rows, -1)
    return torch.tensor(ids), torch.tensor(labels), position_ids


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x, mask):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None])
        return self.out(y.transpose(1, 2).reshape(b, t, d))


class Decoder(nn.Module):
    def __init__(self, dim=64, heads=4, layers=2):
        super().__init__()
        self.embed, self.place = nn.Embedding(VOCAB, dim), nn.Embedding(DOC, dim)
        self.attn = nn.ModuleList(Attention(dim, heads) for _ in range(layers))
        self.mlp = nn.ModuleList(nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
                                 for _ in range(layers))
        self.norms = nn.ModuleList(nn.LayerNorm(dim) for _ in range(layers))
        self.head = nn.Linear(dim, VOCAB)

    def build_mask(self, position_ids):
        n = position_ids.shape[1]
        causal = torch.ones(n, n, dtype=torch.bool).tril().expand(len(position_ids), n, n)
        document_ids = (position_ids == 0).cumsum(dim=1)
        same_document = document_ids[:, :, None] == document_ids[:, None, :]
        return causal & same_document

    def forward(self, ids, position_ids):
        mask = self.build_mask(position_ids)
        x = self.embed(ids) + self.place(position_ids)
        for norm, attn, mlp in zip(self.norms, self.attn, self.mlp):
            x = x + attn(norm(x), mask)
            x = x + mlp(x)
        return self.head(x)


@torch.no_grad()
def evaluate(model, families):
    """Single documents, as they come at inference; and how far another first document moves the logits of the last one."""
    gen = torch.Generator().manual_seed(6060)
    ids, labels, position_ids = pack(families, 128, gen)
    single = F.cross_entropy(model(ids[:, :DOC], position_ids[:, :DOC]).flatten(0, 1), labels[:, :DOC].flatten(),
                             ignore_index=IGNORE).item()
    other = ids.clone()
    other[:, 1:DOC] = (other[:, 1:DOC] - FIRST + 5) % LETTERS + FIRST
    leak = (model(ids, position_ids) - model(other, position_ids))[:, -DOC:].abs().max().item()
    return single, leak


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--steps", type=int, default=100)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    families, model = make_families(24, gen), Decoder()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    for step in range(args.steps):
        ids, labels, position_ids = pack(families, 16, gen)
        loss = F.cross_entropy(model(ids, position_ids).flatten(0, 1), labels.flatten(), ignore_index=IGNORE)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 25 == 0:
            print(f"step {step} loss {loss.item():.4f}")
    single, leak = evaluate(model, families)
    print(f"EVIDENCE single_document_loss={single:.4f} logits_moved_by_neighbour={leak:.5f} train_loss={loss.item():.4f}")


if __name__ == "__main__":
    main()
