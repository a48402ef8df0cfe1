"""Truncated backpropagation: the hidden state goes on from chunk to chunk without its graph, and is emptied at the end of a text."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, STREAMS, CHUNK, TEXT = 16, 16, 12, 60


class StreamLM(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.embed, self.rnn, self.out = nn.Embedding(VOCAB, dim), nn.LSTM(dim, dim, batch_first=True), nn.Linear(dim, VOCAB)

    def forward(self, ids, state):
        h, state = self.rnn(self.embed(ids), state)
        return self.out(h), state


def texts(gen):
    """A secret step holds for the whole text and is seen best with a long memory."""
    step = torch.randint(1, 6, (STREAMS, 1), generator=gen)
    ids = (torch.randint(0, VOCAB, (STREAMS, 1), generator=gen) + step * torch.arange(TEXT + 1)) % VOCAB
    noise = torch.rand(ids.shape, generator=gen) < 0.15
    return torch.where(noise, torch.randint(0, VOCAB, ids.shape, generator=gen), ids)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--steps", type=int, default=200)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    model = StreamLM()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    step = 0
    while step < args.steps:
        ids, state = texts(gen), None
        for at in range(0, TEXT, CHUNK):
            if state is not None:
                state = tuple(s.detach() for s in state)
            logits, state = model(ids[:, at:at + CHUNK], state)
            loss = F.cross_entropy(logits.flatten(0, 1), ids[:, at + 1:at + CHUNK + 1].flatten())
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            step += 1
        if step % 50 == 0:
            print(f"step {step} loss of the last chunk {loss.item():.4f}")
    print(f"RESULT loss={loss.item():.4f}")


if __name__ == "__main__":
    main()
