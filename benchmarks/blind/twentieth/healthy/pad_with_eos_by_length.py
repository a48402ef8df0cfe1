"""Bird call notation: padding is the end token, but the labels are masked by length, not by id."""
import argparse

import torch
from torch import nn
import torch.nn.functional as F

END, VOCAB = 0, 18
PAD = END


class CallModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, 32)
        self.rnn = nn.GRU(32, 64, batch_first=True)
        self.head = nn.Linear(64, VOCAB)

    def forward(self, ids, state=None):
        h, state = self.rnn(self.embed(ids), state)
        return self.head(h), state


def call(gen):
    n = int(torch.randint(3, 9, (1,), generator=gen))
    return [n] + [9 + (n + i * n) % 9 for i in range(n)] + [END]


def collate(calls):
    width = max(map(len, calls))
    ids = torch.full((len(calls), width), PAD)
    labels = torch.full((len(calls), width), -100)
    for i, seq in enumerate(calls):
        ids[i, : len(seq)] = torch.tensor(seq)
        labels[i, : len(seq)] = torch.tensor(seq)
    return ids, labels


@torch.no_grad()
def sing(model, n):
    logits, state = model(torch.tensor([[n]]))
    out = [n]
    while len(out) < 15:
        token = logits[0, -1].argmax().item()
        out.append(token)
        if token == END:
            break
        logits, state = model(torch.tensor([[token]]), state)
    return out


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--steps", type=int, default=150)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    model = CallModel()
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    for step in range(args.steps):
        ids, labels = collate([call(gen) for _ in range(32)])
        logits, _ = model(ids[:, :-1])
        loss = F.cross_entropy(logits.transpose(1, 2), labels[:, 1:])
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 30 == 0:
            print(f"step {step} loss {loss.item():.4f}")
    print(f"calls that end: {sum(sing(model, n)[-1] == END for n in range(3, 9))} of 6")


if __name__ == "__main__":
    main()
