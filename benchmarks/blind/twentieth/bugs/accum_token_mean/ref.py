"""Language modelling of support chats with gradient accumulation over length-bucketed micro-batches."""
import argparse
import copy

import torch
from torch import nn
import torch.nn.functional as F

VOCAB = 40
IGNORE = -100


class ChatLM(nn.Module):
    def __init__(self, d=40):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, d)
        self.gru = nn.GRU(d, d, batch_first=True)
        self.proj = nn.Linear(d, VOCAB)

    def forward(self, ids):
        return self.proj(self.gru(self.emb(ids))[0])


def make_chats(n, gen):
    """One-word replies are frequent; a few chats are long. The two kinds follow other rules."""
    chats = []
    for _ in range(n):
        if torch.rand(1, generator=gen) < 0.6:
            first = int(torch.randint(2, 20, (1,), generator=gen))
            chats.append([first, int(torch.randint(20, VOCAB, (1,), generator=gen))])
        else:
            length = int(torch.randint(15, 30, (1,), generator=gen))
            chat = [int(torch.randint(2, VOCAB, (1,), generator=gen))]
            while len(chat) < length:
                chat.append(2 + (chat[-1] * 3 + 7) % (VOCAB - 2))
            chats.append(chat)
    return chats


def collate(chats):
    width = max(map(len, chats))
    ids = torch.zeros(len(chats), width, dtype=torch.long)
    labels = torch.full((len(chats), width), IGNORE)
    for row, chat in enumerate(chats):
        ids[row, : len(chat)] = torch.tensor(chat)
        labels[row, : len(chat)] = torch.tensor(chat)
    return ids, labels


def loss_sum(model, ids, labels):
    logits = model(ids)[:, :-1]
    target = labels[:, 1:]
    return F.cross_entropy(logits.reshape(-1, VOCAB), target.reshape(-1), ignore_index=IGNORE, reduction="sum")


def count_targets(labels):
    return (labels[:, 1:] != IGNORE).sum()


def accumulate(model, window):
    """Backward over all micro-batches of a window; returns the loss per token of the window."""
    micro = [collate(chats) for chats in window]
    num_tokens = sum(count_targets(labels) for _, labels in micro)
    running = 0.0
    for ids, labels in micro:
        loss = loss_sum(model, ids, labels) / num_tokens
        loss.backward()
        running += loss.item()
    return running


def gradient_gap(model, window):
    """Relative distance of the accumulated gradient from the one of the same chats in one batch."""
    one, many = copy.deepcopy(model), copy.deepcopy(model)
    one.zero_grad()
    many.zero_grad()
    ids, labels = collate([chat for chats in window for chat in chats])
    (loss_sum(one, ids, labels) / count_targets(labels)).backward()
    accumulate(many, window)
    a = torch.cat([p.grad.flatten() for p in one.parameters()])
    b = torch.cat([p.grad.flatten() for p in many.parameters()])
    return ((a - b).norm() / a.norm()).item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=0.5)
    ap.add_argument("--steps", type=int, default=150)
    ap.add_argument("--micro", type=int, default=8)
    ap.add_argument("--grad_accum", type=int, default=4)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed + 1)
    model = ChatLM()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    held_out = make_chats(200, gen)
    for step in range(args.steps):
        chats = sorted(make_chats(args.micro * args.grad_accum, gen), key=len)
        window = [chats[i : i + args.micro] for i in range(0, len(chats), args.micro)]
        optimizer.zero_grad()
        loss = accumulate(model, window)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 30 == 0:
            print(f"step {step} loss {loss:.4f}")
    gap = gradient_gap(model, window)
    with torch.no_grad():
        ids, labels = collate(held_out)
        per_token = (loss_sum(model, ids, labels) / count_targets(labels)).item()
    print(f"EVIDENCE gradient_gap={gap:.4f} held_out_loss_per_token={per_token:.4f}")


if __name__ == "__main__":
    main()
