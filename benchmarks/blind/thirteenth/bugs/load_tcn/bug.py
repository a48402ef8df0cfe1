"""Hourly load of a building: a temporal convolutional network, one-step training, day-ahead roll-out."""

import argparse
import math

import torch
from torch import nn
from torch.nn.utils.parametrizations import weight_norm

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=4e-3)
parser.add_argument("--steps", type=int, default=160)
args = parser.parse_args()
gen = torch.Generator().manual_seed(args.seed)
torch.manual_seed(args.seed)
torch.set_num_threads(1)


def building_load(hours):
    t = torch.arange(hours, dtype=torch.float32)
    daily = torch.sin(2 * math.pi * t / 24) + 0.5 * torch.sin(4 * math.pi * t / 24 + 0.7)
    weekly = 1.0 - 0.45 * ((t // 24) % 7 >= 5).float()
    shocks = torch.randn(hours, generator=gen) * 0.12
    drift = torch.zeros(hours)
    for i in range(1, hours):
        drift[i] = 0.9 * drift[i - 1] + shocks[i]
    return 10 + 3 * daily * weekly + drift


class CausalBlock(nn.Module):
    def __init__(self, c_in, c_out, kernel, dilation, dropout=0.05):
        super().__init__()
        self.pad = (kernel - 1) * dilation
        self.conv1 = weight_norm(nn.Conv1d(c_in, c_out, kernel, padding=self.pad, dilation=dilation))
        self.conv2 = weight_norm(nn.Conv1d(c_out, c_out, kernel, padding=self.pad, dilation=dilation))
        self.skip = nn.Conv1d(c_in, c_out, 1) if c_in != c_out else nn.Identity()
        self.drop = nn.Dropout(dropout)

    def chomp(self, x):
        return x[:, :, self.pad:]

    def forward(self, x):
        y = self.drop(torch.relu(self.chomp(self.conv1(x))))
        y = self.drop(torch.relu(self.chomp(self.conv2(y))))
        return torch.relu(y + self.skip(x))


class TCN(nn.Module):
    def __init__(self, width=24, kernel=3, levels=4):
        super().__init__()
        sizes = [1] + [width] * levels
        self.body = nn.Sequential(*[CausalBlock(sizes[i], sizes[i + 1], kernel, 2 ** i) for i in range(levels)])
        self.head = nn.Conv1d(width, 1, 1)

    def forward(self, x):
        return self.head(self.body(x.unsqueeze(1))).squeeze(1)


class Windows(torch.utils.data.Dataset):
    """Input x[t:t+n], target x[t+1:t+n+1]."""

    def __init__(self, series, length):
        self.series, self.length = series, length

    def __len__(self):
        return len(self.series) - self.length

    def __getitem__(self, i):
        piece = self.series[i:i + self.length + 1]
        return piece[:-1], piece[1:]


@torch.no_grad()
def roll_out(net, history, horizon):
    net.eval()
    seq = history.clone()
    for _ in range(horizon):
        seq = torch.cat([seq, net(seq)[:, -1:]], dim=1)
    return seq[:, -horizon:]


CONTEXT, DAY = 96, 24
series = building_load(24 * 90)
cut = 24 * 70
mean, std = series[:cut].mean(), series[:cut].std()
series = (series - mean) / std
loader = torch.utils.data.DataLoader(Windows(series[:cut], CONTEXT), batch_size=24, shuffle=True,
                                     drop_last=True, generator=gen)

net = TCN()
opt = torch.optim.AdamW(net.parameters(), lr=args.lr, weight_decay=1e-4)
sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=args.lr, total_steps=args.steps)
step = 0
while step < args.steps:
    for x, y in loader:
        net.train()
        loss = nn.functional.smooth_l1_loss(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        if step % 40 == 0:
            print(f"step {step} loss {loss.item():.4f}")
        step += 1
        if step == args.steps:
            break

starts = range(cut, len(series) - CONTEXT - DAY, 12)
past = torch.stack([series[s:s + CONTEXT] for s in starts])
truth = torch.stack([series[s + CONTEXT:s + CONTEXT + DAY] for s in starts])
mae = (roll_out(net, past, DAY) - truth).abs().mean().item()
naive = (past[:, -DAY:] - truth).abs().mean().item()
print(f"EVIDENCE day-ahead error {mae:.3f}, same hour yesterday {naive:.3f}, last training loss {loss.item():.4f}")
