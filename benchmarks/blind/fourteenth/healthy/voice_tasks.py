"""Voices with three questions (vowel, speaker, pitch), many labels missing; task weights follow the losses, finished tasks are frozen."""

import argparse
import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=4e-3)
parser.add_argument("--steps", type=int, default=12, help="epochs")
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)

RATE, MELS = 8000, 24
VOWELS = torch.tensor([[300.0, 2300.0], [480.0, 1850.0], [750.0, 1250.0], [500.0, 900.0], [320.0, 750.0]])
SPEAKERS = 4


def mel_bank(n_fft, low=60.0, high=RATE / 2):
    mel = torch.linspace(1127 * math.log(1 + low / 700), 1127 * math.log(1 + high / 700), MELS + 2)
    hz = 700 * ((mel / 1127).exp() - 1)
    freq = torch.linspace(0, RATE / 2, n_fft // 2 + 1)
    rising = (freq - hz[:-2, None]) / (hz[1:-1] - hz[:-2])[:, None]
    falling = (hz[2:, None] - freq) / (hz[2:] - hz[1:-1])[:, None]
    return torch.minimum(rising, falling).clamp(min=0)


class Voices(Dataset):
    """Recordings of unequal length; features are made at the first access and kept, labels are missing at random."""

    def __init__(self, n, training):
        self.training, self.cache = training, {}
        self.vowel, self.speaker = torch.randint(len(VOWELS), (n,)), torch.randint(SPEAKERS, (n,))
        self.pitch = 100 + 25 * self.speaker + 60 * torch.rand(n)
        self.length = torch.randint(1200, 3200, (n,))
        self.known = torch.rand(n, 3) < (torch.tensor([0.9, 0.6, 0.4]) if training else 1.0)
        self.seeds = torch.randint(1 << 30, (n,))
        self.bank, self.window = mel_bank(256), torch.hann_window(256)

    def __len__(self):
        return len(self.vowel)

    def features(self, row):
        rng = torch.Generator().manual_seed(self.seeds[row].item())
        time = torch.arange(self.length[row].item()) / RATE
        harmonics = torch.arange(1, 25)[:, None] * self.pitch[row]
        formants = VOWELS[self.vowel[row]] * (0.88 + 0.08 * self.speaker[row])
        loud = (1 / (1 + ((harmonics - formants) / 120) ** 2)).sum(1, keepdim=True)
        wave = (loud * torch.sin(2 * math.pi * harmonics * time)).sum(0) + 0.15 * torch.randn(len(time), generator=rng)
        power = torch.stft(wave, 256, hop_length=100, window=self.window, return_complex=True).abs() ** 2
        logmel = (self.bank @ power + 1e-3).log()
        return ((logmel - logmel.mean()) / logmel.std()).T

    def __getitem__(self, row):
        if row not in self.cache:
            self.cache[row] = self.features(row)
        x = self.cache[row]
        if self.training and torch.rand(()) < 0.5:
            x = x.clone()
            first, wide = torch.randint(MELS - 4, ()).item(), torch.randint(1, 4, ()).item()
            x[:, first : first + wide] = 0.0
            start = torch.randint(len(x) - 5, ()).item()
            x[start : start + 4] = 0.0
        target = torch.stack([self.vowel[row].float(), self.speaker[row].float(), (self.pitch[row] - 165) / 35])
        return x, torch.where(self.known[row], target, torch.nan)


def collate(batch):
    x = pad_sequence([x for x, _ in batch], batch_first=True)
    mask = torch.arange(x.shape[1]) < torch.tensor([len(x) for x, _ in batch])[:, None]
    return x, mask, torch.stack([y for _, y in batch])


class VoiceNet(nn.Module):
    def __init__(self, width=40):
        super().__init__()
        self.frame = nn.Sequential(nn.Linear(MELS, width), nn.ReLU())
        self.context = nn.Conv1d(width, width, 5, padding=2)
        self.heads = nn.ModuleDict({"vowel": nn.Linear(2 * width, 5), "speaker": nn.Linear(2 * width, SPEAKERS), "pitch": nn.Linear(2 * width, 1)})

    def forward(self, x, mask, tasks):
        x = self.frame(x) * mask[..., None]
        x = F.relu(self.context(x.transpose(1, 2))).transpose(1, 2)
        mean = (x * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        top = x.masked_fill(~mask[..., None], -1e4).amax(1)
        pooled = torch.cat([mean, top], 1)
        return {task: self.heads[task](pooled) for task in tasks}


def loss_of(task, out, y):
    known = ~y.isnan()
    if not known.any():
        return None
    if task == "pitch":
        return F.smooth_l1_loss(out[known].squeeze(1), y[known])
    return F.cross_entropy(out[known], y[known].long())


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    score, seen = dict.fromkeys(model.heads, 0.0), 0
    for x, mask, y in loader:
        out = model(x, mask, model.heads)
        for k, task in enumerate(model.heads):
            good = (out[task].squeeze(1) - y[:, k]).abs() < 0.3 if task == "pitch" else out[task].argmax(1) == y[:, k]
            score[task] += good.sum().item()
        seen += len(x)
    return {task: value / seen for task, value in score.items()}


train_loader = DataLoader(Voices(700, True), batch_size=32, shuffle=True, collate_fn=collate)
valid_loader = DataLoader(Voices(300, False), batch_size=100, collate_fn=collate)
model = VoiceNet()
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-3)
history, weight, finished = [], dict.fromkeys(model.heads, 1.0), set()
for epoch in range(args.steps):
    active = [task for task in model.heads if task not in finished]
    if len(history) >= 2:
        ratio = torch.tensor([history[-1][t] / max(history[-2][t], 1e-6) for t in active])
        weight = dict(zip(active, (len(active) * torch.softmax(ratio / 2.0, 0)).tolist()))
    model.train()
    total, count = dict.fromkeys(model.heads, 0.0), dict.fromkeys(model.heads, 1e-9)
    for x, mask, y in train_loader:
        out = model(x, mask, active)
        losses = {task: loss_of(task, out[task], y[:, k]) for k, task in enumerate(model.heads) if task in active}
        losses = {task: value for task, value in losses.items() if value is not None}
        if not losses:
            continue
        optimizer.zero_grad(set_to_none=True)
        sum(weight[task] * value for task, value in losses.items()).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        for task, value in losses.items():
            total[task] += value.item()
            count[task] += 1
    history.append({t: total[t] / count[t] if t in active else history[-1][t] for t in model.heads})
    score = evaluate(model, valid_loader)
    for task in active:
        if score[task] > 0.97 and len(active) > 1 and epoch >= 3 and task not in finished and len(finished) < 2:
            finished.add(task)
            model.heads[task].requires_grad_(False)
    if epoch % 3 == 2:
        print(f"epoch {epoch + 1}: " + ", ".join(f"{t} {s:.3f} ({weight.get(t, 0):.2f})" for t, s in score.items()) + f", finished {sorted(finished)}")
print("valid " + ", ".join(f"{t} {s:.3f}" for t, s in score.items()))
