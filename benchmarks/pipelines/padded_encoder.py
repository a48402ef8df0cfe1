"""Sentences filled up with a sign of their own, which the encoder's padding mask leaves out: is a word followed by itself? `log_softmax`, `nll_loss`."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

from options import options

WORDS, FILL = 12, 0


def sentence():
    words = torch.randint(1, WORDS, (int(torch.randint(5, 14, ())),))
    return words, int((words[1:] == words[:-1]).any())


def together(batch):
    return pad_sequence([words for words, _ in batch], batch_first=True, padding_value=FILL), torch.tensor([label for _, label in batch])


class Encoder(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, width, padding_idx=FILL), nn.Embedding(16, width)
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.1, batch_first=True)
        self.layers, self.out = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(width, 2)

    def forward(self, words):
        filled = words == FILL
        x = self.layers(self.words(words) + self.places(torch.arange(words.size(1))), src_key_padding_mask=filled)
        weight = (~filled).unsqueeze(2).float()
        return F.log_softmax(self.out((x * weight).sum(dim=1) / weight.sum(dim=1)), dim=-1)


def main():
    args = options(lr=2e-3, width=32, steps=48)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    loader = DataLoader([sentence() for _ in range(384)], batch_size=32, shuffle=True, collate_fn=together)
    held_out = together([sentence() for _ in range(128)])
    model = Encoder(args.width)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    for epoch in range(max(1, args.steps // len(loader))):
        model.train()
        for words, labels in loader:
            loss = F.nll_loss(model(words), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            print(f"epoch {epoch}: loss {loss.item():.3f}, held out {F.nll_loss(model(held_out[0]), held_out[1]).item():.3f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
