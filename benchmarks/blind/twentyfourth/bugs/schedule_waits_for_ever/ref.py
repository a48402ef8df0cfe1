"""Vocoder-like regression in mixed precision with a loss scaler; the rate falls each time the optimizer has stepped."""
import argparse

import torch
import torch.nn.functional as F
from torch import nn

FRAMES, BANDS = 16, 12


class Vocoder(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.inner = nn.Sequential(nn.Conv1d(BANDS, width, 3, padding=1), nn.LeakyReLU(0.1),
                                   nn.Conv1d(width, width, 3, padding=1), nn.LeakyReLU(0.1))
        self.out = nn.Conv1d(width, 4, 1)

    def forward(self, x):
        return self.out(self.inner(x)).float()


class Trainer:
    def __init__(self, model, args):
        self.model = model
        self.use_amp_scaler = not args.full_precision
        self.optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
        self.scheduler = torch.optim.lr_scheduler.ExponentialLR(self.optimizer, gamma=args.gamma)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, enabled=self.use_amp_scaler)

    def optimize(self, x, y):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.use_amp_scaler):
            output = self.model(x)
        loss = F.mse_loss(output, y)
        self.optimizer.zero_grad()
        step_taken = False
        if self.use_amp_scaler:
            self.scaler.scale(loss).backward()
            self.scaler.unscale_(self.optimizer)
            nn.utils.clip_grad_norm_(self.model.parameters(), 5.0)
            scale = self.scaler.get_scale()
            self.scaler.step(self.optimizer)
            self.scaler.update()
            step_taken = self.scaler.get_scale() >= scale        # smaller after an overflow
        else:
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 5.0)
            self.optimizer.step()
            step_taken = True
        if step_taken:
            self.scheduler.step()
        return loss.item()


def batch(gen, n=16, noise=1.5):
    mel = torch.randn(n, BANDS, FRAMES, generator=gen)
    mix = torch.randn(4, BANDS, generator=torch.Generator().manual_seed(9)) / BANDS ** 0.5
    wave = torch.einsum("ob,nbf->nof", mix, mel + 0.5 * mel.roll(1, 2))
    return mel, torch.sin(wave) + noise * torch.randn(wave.shape, generator=gen)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.4)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--gamma", type=float, default=0.96)
    parser.add_argument("--full-precision", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    trainer = Trainer(Vocoder(), args)
    gen = torch.Generator().manual_seed(args.seed + 18)
    for step in range(args.steps):
        loss = trainer.optimize(*batch(gen))
        if (step + 1) % 10 == 0:
            print(f"step {step + 1} loss {loss:.4f} rate {trainer.optimizer.param_groups[0]['lr']:.4f}")
    mel, wave = batch(torch.Generator().manual_seed(40), 200, noise=0.0)
    with torch.no_grad():
        test = F.mse_loss(trainer.model(mel), wave).item()
    print(f"EVIDENCE last_rate_to_first={trainer.optimizer.param_groups[0]['lr'] / args.lr:.4f} test={test:.4f}")


if __name__ == "__main__":
    main()
