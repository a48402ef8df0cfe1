"""Truncated backpropagation: a long text is read in stretches, the hidden state goes on from batch to batch, detached."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

SYMBOLS, STREAMS, STRETCH = 14, 12, 20


def long_text(gen, length):
    """A symbol names the period with which the next ones return."""
    out, period = [], 3
    while len(out) < length:
        period = int(torch.randint(2, 6, (), generator=gen))
        motif = torch.randint(4, SYMBOLS, (period,), generator=gen).tolist()
        out += [period - 2] + motif * 5
    return torch.tensor(out[:length])


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.rnn, self.head = nn.Embedding(SYMBOLS, 40), nn.LSTM(40, 64, batch_first=True), nn.Linear(64, SYMBOLS)

    def forward(self, ids, state):
        h, state = self.rnn(self.embed(ids), state)
        return self.head(h), state


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=6e-3)
    ap.add_argument("--steps", type=int, default=120)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    text = torch.stack([long_text(gen, 40 * STRETCH + 1) for _ in range(STREAMS)])
    model = Reader()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    state = None
    for step in range(args.steps):
        at = (step % 40) * STRETCH
        if at == 0:
            state = None
        window = text[:, at:at + STRETCH + 1]
        logits, state = model(window[:, :-1], state)
        loss = F.cross_entropy(logits.flatten(0, 1), window[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        state = tuple(s.detach() for s in state)
        if step % 40 == 39:
            print(f"step {step + 1} loss {loss.item():.4f}")
    print(f"RESULT loss={loss.item():.4f}")


if __name__ == "__main__":
    main()
