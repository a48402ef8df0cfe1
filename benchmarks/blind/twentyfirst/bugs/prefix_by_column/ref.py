"""Fine-tuning of a speech-to-text decoder on left-padded rows: sounds first, then a language tag, then the text."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

SOUNDS, LETTERS = 10, 10
PAD, TAG = 0, 1
VOCAB = 2 + SOUNDS + LETTERS
IGNORE = -100


def utterance(gen):
    """Three to seven sounds; a letter is written for each, the second letter of a repeated sound is dropped."""
    n = int(torch.randint(3, 8, (1,), generator=gen))
    sounds = torch.randint(0, SOUNDS, (n,), generator=gen)
    text = [int(s) for i, s in enumerate(sounds) if i == 0 or s != sounds[i - 1]]
    prefix = [2 + int(s) for s in sounds] + [TAG]
    return prefix, [2 + SOUNDS + c for c in text] + [TAG]


def pad_left(rows):
    width = max(len(r) for r in rows)
    ids = torch.full((len(rows), width), PAD)
    attention_mask = torch.zeros(len(rows), width, dtype=torch.long)
    for i, r in enumerate(rows):
        ids[i, width - len(r):] = torch.tensor(r)
        attention_mask[i, width - len(r):] = 1
    return ids, attention_mask


def collate(pairs):
    ids, attention_mask = pad_left([prefix + text for prefix, text in pairs])
    labels = ids.clone()
    labels[attention_mask == 0] = IGNORE
    place = attention_mask.cumsum(1)
    for i, (prefix, _) in enumerate(pairs):
        labels[i, place[i] <= len(prefix)] = IGNORE
    return ids, attention_mask, labels


class Dictation(nn.Module):
    def __init__(self, dim=48, heads=4):
        super().__init__()
        self.token = nn.Embedding(VOCAB, dim)
        self.place = nn.Embedding(24, dim)
        layer = lambda: nn.TransformerEncoderLayer(dim, heads, 96, dropout=0.0, batch_first=True, norm_first=True)
        self.layers = nn.ModuleList([layer(), layer()])
        self.heads = heads
        self.out = nn.Linear(dim, VOCAB)

    def forward(self, ids, attention_mask):
        place = (attention_mask.cumsum(1) - 1).clamp(min=0)
        x = self.token(ids) + self.place(place)
        t = ids.shape[1]
        seen = torch.ones(t, t, dtype=torch.bool).tril() & (attention_mask[:, None, :] == 1)
        seen = seen | torch.eye(t, dtype=torch.bool)
        blocked = (~seen).repeat_interleave(self.heads, 0)
        for layer in self.layers:
            x = layer(x, src_mask=blocked)
        return self.out(x)


def lm_loss(logits, labels):
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten(), ignore_index=IGNORE)


def run(args):
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    model = Dictation()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    warm = torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, 1.0, 20)
    on_prefix = total = 0
    for step in range(args.steps):
        pairs = [utterance(gen) for _ in range(32)]
        ids, attention_mask, labels = collate(pairs)
        loss = lm_loss(model(ids, attention_mask), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        warm.step()
        trained = labels != IGNORE
        on_prefix += (trained & (ids >= 2) & (ids < 2 + SOUNDS)).sum().item()
        total += trained.sum().item()
        if step % 40 == 0:
            print(f"step {step} loss {loss.item():.4f}")
    print(f"EVIDENCE share_of_loss_on_sounds={on_prefix / total:.4f} final_loss={loss.item():.4f}")


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=160)
    run(ap.parse_args())
