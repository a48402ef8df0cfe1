"""Series of different lengths, packed: a GRU and an attention over its states, sequences first, with a place that holds nothing, give mean and spread
(Gaussian likelihood) and, by another head, the median (absolute, Huber)."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

from options import options


def series(n):
    lengths = torch.randint(8, 20, (n,))
    rows, target = [], []
    for length in lengths.tolist():
        phase, pace = torch.rand(()) * 6, 0.2 + 0.4 * torch.rand(())
        row = torch.sin(phase + pace * torch.arange(length + 1)) + 0.1 * torch.randn(length + 1)
        rows.append(row[:-1, None])
        target.append(row[-1:])
    return pad_sequence(rows, batch_first=True), lengths, torch.stack(target)


class Forecaster(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gru = nn.GRU(1, width, batch_first=True)
        self.values = nn.Linear(width, width // 2)
        self.attention = nn.MultiheadAttention(width, 2, kdim=width + 1, vdim=width // 2)
        self.memory = nn.MultiheadAttention(width, 2, add_zero_attn=True)
        self.mean, self.spread, self.median = (nn.Linear(width, 1) for _ in range(3))

    def forward(self, x, lengths):
        states, last = self.gru(pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False))
        states, _ = pad_packed_sequence(states)
        filled = torch.arange(len(states)) >= lengths[:, None]
        keys = torch.cat([states, x.transpose(0, 1)], dim=2)
        seen, self.weights = self.attention(last, keys, self.values(states), key_padding_mask=filled)
        seen = seen + self.memory(seen, states, states, key_padding_mask=filled)[0]
        state = last[0] + seen[0]
        return self.mean(state), F.softplus(self.spread(state)) + 1e-3, self.median(state)


def main():
    args = options(lr=1e-2, width=24, steps=40)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    model = Forecaster(args.width)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    x, lengths, wanted = series(96)
    for step in range(args.steps):
        model.train()
        rows, sizes, target = series(24)
        mean, spread, median = model(rows, sizes)
        loss = F.gaussian_nll_loss(mean, target, spread) + F.l1_loss(median, target) + F.huber_loss(mean, target)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 10 == 9:
            model.eval()
            with torch.no_grad():
                print(f"step {step}: loss {loss.item():.3f}, off {F.l1_loss(model(x, lengths)[2], wanted).item():.3f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
