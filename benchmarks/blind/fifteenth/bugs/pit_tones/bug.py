"""Separates two simultaneous tones with a mask network and permutation-invariant training."""
import argparse
from itertools import permutations

import torch
import torch.nn as nn

FRAME, FRAMES = 16, 40


def harmonic(n, low, high, g):
    t = torch.arange(FRAME * FRAMES) / (FRAME * FRAMES)
    f0 = low + (high - low) * torch.rand(n, 1, generator=g)
    wave = torch.zeros(n, FRAME * FRAMES)
    for h in range(1, 4):
        phase = 6.2832 * torch.rand(n, 1, generator=g)
        wave += torch.sin(6.2832 * f0 * h * t + phase) / h
    envelope = 0.5 + 0.5 * torch.sin(6.2832 * (1 + 3 * torch.rand(n, 1, generator=g)) * t + 6.2832 * torch.rand(n, 1, generator=g))
    return wave * envelope


class Mixtures(torch.utils.data.Dataset):
    """A low voice and a high one; which of them is the first source is a matter of chance."""

    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        voices = torch.stack([harmonic(n, 12, 24, g), harmonic(n, 50, 90, g)], 1)
        swap = torch.rand(n, generator=g) < 0.5
        voices[swap] = voices[swap].flip(1)
        self.sources = voices
        self.mixture = voices.sum(1) + 0.02 * torch.randn(n, FRAME * FRAMES, generator=g)

    def __len__(self):
        return len(self.mixture)

    def __getitem__(self, i):
        return self.mixture[i], self.sources[i]


class Separator(nn.Module):
    def __init__(self, bases=48, hidden=48, n_src=2):
        super().__init__()
        self.n_src, self.bases = n_src, bases
        self.encoder = nn.Conv1d(1, bases, FRAME, stride=FRAME // 2, bias=False)
        self.norm = nn.GroupNorm(1, bases)
        self.net = nn.Sequential(
            nn.Conv1d(bases, hidden, 3, padding=1), nn.PReLU(),
            nn.Conv1d(hidden, hidden, 3, padding=2, dilation=2), nn.PReLU(),
            nn.Conv1d(hidden, n_src * bases, 1),
        )
        self.decoder = nn.ConvTranspose1d(bases, 1, FRAME, stride=FRAME // 2, bias=False)

    def forward(self, mixture):
        code = self.encoder(mixture.unsqueeze(1))
        mask = self.net(self.norm(code)).view(len(mixture), self.n_src, self.bases, -1).sigmoid()
        masked = (mask * code.relu().unsqueeze(1)).flatten(0, 1)
        return self.decoder(masked).view(len(mixture), self.n_src, -1)


def neg_si_sdr(estimate, target, eps=1e-6):
    """One value for each sample of the batch."""
    estimate = estimate - estimate.mean(-1, keepdim=True)
    target = target - target.mean(-1, keepdim=True)
    scale = (estimate * target).sum(-1, keepdim=True) / (target.pow(2).sum(-1, keepdim=True) + eps)
    projection = scale * target
    noise = estimate - projection
    return -10 * torch.log10((projection.pow(2).sum(-1) + eps) / (noise.pow(2).sum(-1) + eps))


def pit_loss(estimate, sources):
    candidates = []
    for perm in permutations(range(sources.size(1))):
        pairs = [neg_si_sdr(estimate[:, i], sources[:, p]) for i, p in enumerate(perm)]
        candidates.append(torch.stack(pairs).mean())
    return torch.stack(candidates).min()


def run_epoch(model, loader, optimizer, limit):
    total, done = 0.0, 0
    for mixture, sources in loader:
        if done == limit:
            break
        loss = pit_loss(model(mixture), sources)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        total, done = total + loss.item(), done + 1
    return total / max(done, 1), done


@torch.no_grad()
def best_assignment(model, loader):
    """The SI-SDR in dB of each test mixture with its own best order, and the likeness of the two estimates."""
    scores, alike = [], []
    for mixture, sources in loader:
        estimate = model.eval()(mixture)
        straight = neg_si_sdr(estimate, sources).mean(1)
        crossed = neg_si_sdr(estimate, sources.flip(1)).mean(1)
        scores.append(-torch.minimum(straight, crossed))
        alike.append(torch.cosine_similarity(estimate[:, 0], estimate[:, 1], dim=-1).abs())
    model.train()
    return torch.cat(scores).mean().item(), torch.cat(alike).mean().item()


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=120)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    train = torch.utils.data.DataLoader(Mixtures(640, args.seed), batch_size=16, shuffle=True, drop_last=True)
    test = torch.utils.data.DataLoader(Mixtures(128, args.seed + 1000), batch_size=32)
    model = Separator()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    left, epoch = args.steps, 0
    while left > 0:
        loss, done = run_epoch(model, train, optimizer, left)
        left, epoch = left - done, epoch + 1
        print(f"epoch {epoch} loss {loss:.2f} dB")
    quality, alike = best_assignment(model, test)
    print(f"EVIDENCE SI-SDR on unseen mixtures {quality:.2f} dB likeness of the two outputs {alike:.3f}")
