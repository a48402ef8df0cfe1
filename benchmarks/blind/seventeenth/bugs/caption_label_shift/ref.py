"""Image captioning on the scikit-learn digits: the picture becomes a prefix of the decoder."""
import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
CHARS = sorted(set("".join(WORDS)))
PAD, BOS, EOS = 0, 1, 2
STOI = {c: i + 3 for i, c in enumerate(CHARS)}
VOCAB = len(CHARS) + 3
MAX_LEN = 8


def encode(word):
    ids = [BOS] + [STOI[c] for c in word] + [EOS]
    return ids + [PAD] * (MAX_LEN - len(ids))


def causal_lm_loss(logits, labels, ignore_index=-100):
    """Shift so that position n predicts token n + 1."""
    labels = F.pad(labels, (0, 1), value=ignore_index)[:, 1:]
    return F.cross_entropy(logits.reshape(-1, logits.size(-1)), labels.reshape(-1),
                           ignore_index=ignore_index)


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.ln1 = nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.ln2 = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x, mask):
        h = self.ln1(x)
        x = x + self.attn(h, h, h, attn_mask=mask, need_weights=False)[0]
        return x + self.mlp(self.ln2(x))


class CaptionModel(nn.Module):
    def __init__(self, dim=64, patches=4):
        super().__init__()
        self.num_image_tokens = patches
        self.patch = nn.Linear(64 // patches, dim)
        self.tok = nn.Embedding(VOCAB, dim)
        self.pos = nn.Parameter(torch.randn(1, patches + MAX_LEN, dim) * 0.02)
        self.blocks = nn.ModuleList([Block(dim, 4) for _ in range(2)])
        self.ln = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, VOCAB)

    def forward(self, images, input_ids, labels=None):
        prefix = self.patch(images.view(images.size(0), self.num_image_tokens, -1))
        x = torch.cat([prefix, self.tok(input_ids)], dim=1)
        t = x.size(1)
        x = x + self.pos[:, :t]
        mask = torch.ones(t, t, dtype=torch.bool).triu(1)
        mask[:, :self.num_image_tokens] = False
        for block in self.blocks:
            x = block(x, mask)
        logits = self.head(self.ln(x))
        loss = None
        if labels is not None:
            text_logits = logits[:, self.num_image_tokens:].contiguous()
            loss = causal_lm_loss(text_logits, labels)
        return logits, loss


@torch.no_grad()
def generate(model, images):
    ids = torch.full((images.size(0), 1), BOS)
    done = torch.zeros(images.size(0), dtype=torch.bool)
    for _ in range(MAX_LEN - 1):
        logits, _ = model(images, ids)
        nxt = logits[:, -1].argmax(-1)
        nxt = torch.where(done, torch.full_like(nxt, PAD), nxt)
        done |= nxt == EOS
        ids = torch.cat([ids, nxt[:, None]], dim=1)
    return ids


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=110)
    parser.add_argument("--batch-size", type=int, default=64)
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    digits = load_digits()
    order = np.random.RandomState(args.seed).permutation(len(digits.target))
    images = torch.tensor(digits.data[order] / 16.0, dtype=torch.float32)
    captions = torch.tensor([encode(WORDS[y]) for y in digits.target[order]])
    n_train = 1400
    train_x, train_y = images[:n_train], captions[:n_train]
    test_x, test_y = images[n_train:], captions[n_train:]

    model = CaptionModel()
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, args.lr, total_steps=args.steps)
    for step in range(args.steps):
        idx = torch.randint(0, n_train, (args.batch_size,))
        ids = train_y[idx]
        labels = ids.masked_fill(ids == PAD, -100)
        _, loss = model(train_x[idx], ids, labels)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
        if step % 20 == 0:
            print(f"{step:4d} loss {loss.item():.4f}")

    model.eval()
    out = generate(model, test_x)
    exact = (out == test_y).all(dim=1).float().mean().item()
    inv = {v: k for k, v in STOI.items()}
    print("sample:", ["".join(inv.get(t, "") for t in row.tolist()) for row in out[:5]])
    print(f"EVIDENCE caption_exact_match={exact:.4f} last_loss={loss.item():.4f}")


if __name__ == "__main__":
    main()
