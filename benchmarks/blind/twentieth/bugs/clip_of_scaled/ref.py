"""Phoneme recognition from frames with mixed precision, loss scaling and gradient noise robust clipping."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

PHONES, MELS, FRAMES = 8, 16, 20


def utterances(n, gen):
    """Segments of constant phone, each with its own formant pattern."""
    formant = torch.randn(PHONES, MELS, generator=torch.Generator().manual_seed(4))
    seg = torch.randint(0, PHONES, (n, FRAMES // 4), generator=gen)
    phone = seg.repeat_interleave(4, dim=1)
    return formant[phone] + 0.8 * torch.randn(n, FRAMES, MELS, generator=gen), phone


class FrameTagger(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.conv = nn.Conv1d(MELS, hidden, 3, padding=1)
        self.norm = nn.LayerNorm(hidden)
        self.rest = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, PHONES))

    def forward(self, mel):
        h = F.relu(self.conv(mel.transpose(1, 2))).transpose(1, 2)
        return self.rest(self.norm(h))


class Updater:
    def __init__(self, model, lr, clip):
        self.model, self.clip = model, clip
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9, nesterov=True)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=2.0 ** 14, growth_interval=100)

    def backward(self, loss):
        self.scaler.scale(loss).backward()

    def step(self):
        self.scaler.unscale_(self.optimizer)
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad()
        return norm.item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--clip", type=float, default=5.0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    gen = torch.Generator().manual_seed(args.seed)
    model = FrameTagger()
    updater = Updater(model, args.lr, args.clip)
    clipped = 0
    for step in range(args.steps):
        mel, phone = utterances(16, gen)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = model(mel)
        loss = F.cross_entropy(logits.float().flatten(0, 1), phone.flatten())
        updater.backward(loss)
        norm = updater.step()
        clipped += norm > args.clip
        if (step + 1) % 30 == 0:
            print(f"step {step + 1} loss {loss.item():.4f} grad norm {norm:.3f}")
    with torch.no_grad():
        mel, phone = utterances(200, torch.Generator().manual_seed(1))
        acc = (model(mel).argmax(-1) == phone).float().mean().item()
    print(f"EVIDENCE steps_clipped={clipped / args.steps:.2f} frame_accuracy={acc:.3f}")


if __name__ == "__main__":
    main()
