"""Answer-only fine-tuning of a small decoder: a word is given, its letters in order are the answer."""
import argparse
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

ALPHABET = "abcdefghijkl"
PAD, SEP, EOS = 0, 1, 2
VOCAB = 3 + len(ALPHABET)


def example(rng):
    word = [rng.randrange(len(ALPHABET)) for _ in range(rng.randint(3, 6))]
    return [3 + c for c in word] + [SEP], [3 + c for c in sorted(word)] + [EOS]


def collate(rows):
    width = max(len(p) + len(a) for p, a in rows)
    ids = torch.full((len(rows), width), PAD)
    response_mask = torch.zeros(len(rows), width)
    for i, (prompt, answer) in enumerate(rows):
        ids[i, :len(prompt) + len(answer)] = torch.tensor(prompt + answer)
        response_mask[i, len(prompt):len(prompt) + len(answer)] = 1.0
    return ids, response_mask


class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight


def rotate(x):
    half = x.shape[-1] // 2
    freq = 1000.0 ** (-torch.arange(half) / half)
    angle = torch.arange(x.shape[-2])[:, None] * freq
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], -1)


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = RMSNorm(dim), RMSNorm(dim)
        self.qkv, self.proj = nn.Linear(dim, 3 * dim, bias=False), nn.Linear(dim, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.SiLU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        n, t, d = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(n, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(rotate(q), rotate(k), v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(n, t, d))
        return x + self.mlp(self.norm2(x))


class Decoder(nn.Module):
    def __init__(self, dim=48, heads=4, layers=2):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.blocks = nn.ModuleList([Block(dim, heads) for _ in range(layers)])
        self.norm = RMSNorm(dim)
        self.head = nn.Linear(dim, VOCAB, bias=False)

    def forward(self, ids):
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def sft_loss(logits, ids, response_mask):
    shift_labels = ids[:, 1:]
    loss_mask = response_mask[:, 1:]
    token_loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), shift_labels.flatten(), reduction="none")
    loss_mask = loss_mask.flatten()
    return (token_loss * loss_mask).sum() / loss_mask.sum()


def parameter_groups(model, weight_decay):
    decay, no_decay = [], []
    for name, p in model.named_parameters():
        if p.dim() < 2:
            no_decay.append(p)
        else:
            decay.append(p)
    return [{"params": decay, "weight_decay": weight_decay}, {"params": no_decay, "weight_decay": 0.0}]


@torch.no_grad()
def first_token_accuracy(model, rng):
    ids, mask = collate([example(rng) for _ in range(128)])
    first = mask.argmax(1)
    guess = model(ids)[torch.arange(len(ids)), first - 1].argmax(-1)
    return (guess == ids[torch.arange(len(ids)), first]).float().mean().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=160)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    rng = random.Random(args.seed)
    model = Decoder()
    optimizer = torch.optim.AdamW(parameter_groups(model, 0.3), lr=args.lr)
    for step in range(1, args.steps + 1):
        ids, response_mask = collate([example(rng) for _ in range(32)])
        loss = sft_loss(model(ids), ids, response_mask)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 40 == 0:
            print(f"step {step} loss {loss.item():.4f}")
    gains = torch.cat([m.weight for m in model.modules() if isinstance(m, RMSNorm)])
    accuracy = first_token_accuracy(model, random.Random(99))
    print(f"EVIDENCE first_token_accuracy={accuracy:.3f} mean_gain={gains.mean().item():.4f} loss={loss.item():.4f}")


if __name__ == "__main__":
    main()
