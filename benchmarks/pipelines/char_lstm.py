"""A character LSTM with truncated back-propagation through time: the state is carried on and detached."""

import random

import torch
from torch import nn

from options import options


class CharLSTM(nn.Module):
    def __init__(self, vocab, hidden):
        super().__init__()
        self.embed = nn.Embedding(vocab, hidden)
        self.lstm = nn.LSTM(hidden, hidden, num_layers=2, dropout=0.2, batch_first=True)
        self.out = nn.Linear(hidden, vocab)
        self.reset()

    def reset(self):
        nn.init.uniform_(self.embed.weight, -0.1, 0.1)
        nn.init.uniform_(self.out.weight, -0.1, 0.1)
        nn.init.zeros_(self.out.bias)

    def forward(self, x, state=None):
        h, state = self.lstm(self.embed(x), state)
        return self.out(h), state


def repackage(state):
    return tuple(s.detach() for s in state)


def batchify(data, batch):
    n = len(data) // batch
    return data[: n * batch].view(batch, n)


def evaluate(model, data, bptt, criterion):
    model.eval()
    total, state = 0.0, None
    with torch.no_grad():
        spans = range(0, data.size(1) - 1, bptt)
        for i in spans:
            n = min(bptt, data.size(1) - 1 - i)
            logits, state = model(data[:, i : i + n], state)
            total += criterion(logits.flatten(0, 1), data[:, i + 1 : i + 1 + n].flatten()).item()
    return total / len(spans)


def main():
    args = options(lr=5e-3, width=48, steps=48)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    with open(random.__file__) as f:
        text = f.read()[:14000]
    vocab = {c: i for i, c in enumerate(sorted(set(text)))}
    ids = torch.tensor([vocab[c] for c in text])
    train_data, val_data = batchify(ids[:12000], 20), batchify(ids[12000:], 5)

    bptt = 25
    model = CharLSTM(len(vocab), args.width)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0, factor=0.5)
    starts = range(0, train_data.size(1) - bptt - 1, bptt)
    for epoch in range(max(2, args.steps // len(starts))):
        model.train()
        state = None
        for i in starts:
            if state is not None:
                state = repackage(state)
            model.zero_grad()
            logits, state = model(train_data[:, i : i + bptt], state)
            loss = criterion(logits.flatten(0, 1), train_data[:, i + 1 : i + bptt + 1].flatten())
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.25)
            optimizer.step()
        val_loss = evaluate(model, val_data, bptt, criterion)
        scheduler.step(val_loss)
        print(f"epoch {epoch}: loss {loss.item():.3f}, val {val_loss:.3f}, lr {optimizer.param_groups[0]['lr']:.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
