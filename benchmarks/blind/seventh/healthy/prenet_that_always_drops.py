"""A decoder forecasts frames from frames; its prenet always drops, so that it does not rely on the last frame alone."""

import argparse

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

def get_args():
    parser = argparse.ArgumentParser(description=__doc__)
    for name, kind, default in (("--seed", int, 0), ("--lr", float, 0.004), ("--steps", int, 120)):
        parser.add_argument(name, type=kind, default=default)
    return parser.parse_args()


args = get_args()
BANDS, LENGTH = 6, 20


class Prenet(nn.Module):
    def __init__(self, inputs, width):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(inputs, width), nn.Linear(width, width)])

    def forward(self, x):
        for layer in self.layers:
            x = F.dropout(F.relu(layer(x)), p=0.3, training=True)
        return x


class Decoder(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.speaker = nn.Embedding(8, 16)
        self.prenet, self.cell = Prenet(BANDS, 32), nn.GRU(48, width, batch_first=True)
        self.drop, self.out = nn.Dropout(0.1), nn.Linear(width, BANDS)

    def forward(self, speaker, frames, state=None):
        given = self.speaker(speaker)[:, None].expand(-1, frames.shape[1], -1)
        h, state = self.cell(torch.cat([self.prenet(frames), given], dim=2), state)
        return self.out(self.drop(h)), state

    @torch.no_grad()
    def generate(self, speaker):
        frame, state, frames = torch.zeros(len(speaker), 1, BANDS), None, []
        for _ in range(LENGTH):
            frame, state = self(speaker, frame, state)
            frames.append(frame)
        return torch.cat(frames, dim=1)


def voices(count, rates):
    speaker = torch.randint(8, (count,))
    time = torch.arange(LENGTH).float()[None, :, None]
    return speaker, (time * rates[speaker][:, None]).sin() + 0.1 * torch.randn(count, LENGTH, BANDS)


torch.manual_seed(args.seed)
torch.set_num_threads(1)
rates = 0.1 + 0.6 * torch.rand(8, BANDS)
train = DataLoader(TensorDataset(*voices(640, rates)), batch_size=32, shuffle=True)
speaker, frames = voices(100, rates)
model = Decoder()
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
step = 0
while step < args.steps:
    for who, target in train:
        given = F.pad(target[:, :-1], (0, 0, 1, 0))
        guess, _ = model(who, given)
        loss = F.mse_loss(guess, target) + 0.1 * F.l1_loss(guess, target)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        step += 1
    model.eval()
    error = F.mse_loss(model.generate(speaker), frames).item()
    model.train()
    print(f"step {step}: loss {loss.item():.4f}, error of what is generated {error:.4f}")

# SPDX-License-Identifier: Apache-2.0
