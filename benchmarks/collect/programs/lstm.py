"""A language model of two LSTM layers of width 128, batches of 16 sequences of 32 words."""
import torch
import torch.nn.functional as F
from meter import STEPS, Meter
from torch import nn

VOCABULARY, WIDTH, LENGTH, BATCH = 500, 128, 32, 16


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, WIDTH)
        self.lstm = nn.LSTM(WIDTH, WIDTH, num_layers=2, dropout=0.2, batch_first=True)
        self.dropout = nn.Dropout(0.2)
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, words, state=None):
        y, state = self.lstm(self.words(words), state)
        return self.head(self.dropout(y)), state


def main():
    torch.manual_seed(0)
    meter = Meter()
    text = torch.randint(VOCABULARY, (BATCH, LENGTH * STEPS + 1))
    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    model.train()
    state = None
    for step in range(STEPS):
        piece = text[:, step * LENGTH:(step + 1) * LENGTH + 1]
        optimizer.zero_grad()
        logits, state = model(piece[:, :-1], state)
        state = tuple(s.detach() for s in state)
        loss = F.cross_entropy(logits.flatten(0, 1), piece[:, 1:].flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        optimizer.step()
        meter.tick()
    meter.write()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
