"""Class conditional autoencoder of sound envelopes: validation runs on the moving average of the weights."""
import argparse
import math

import torch
import torch.nn as nn

LENGTH, KINDS = 32, 4


def envelopes(n, gen):
    kind = torch.randint(0, KINDS, (n,), generator=gen)
    t = torch.linspace(0, 1, LENGTH)[None]
    attack = 0.05 + 0.3 * torch.rand(n, 1, generator=gen)
    decay = (2 + 3 * kind.float())[:, None]
    wave = (t / attack).clamp(max=1) * torch.exp(-decay * t) * (1 + 0.3 * torch.sin(2 * math.pi * (kind[:, None] + 1) * t))
    return wave + 0.02 * torch.randn(n, LENGTH, generator=gen), kind


class EnvelopeAE(nn.Module):
    def __init__(self, latent=4):
        super().__init__()
        self.kind = nn.Embedding(KINDS, 8)
        self.enc = nn.Sequential(nn.Linear(LENGTH + 8, 64), nn.GELU(), nn.Linear(64, latent))
        self.dec = nn.Sequential(nn.Linear(latent + 8, 64), nn.GELU(), nn.Linear(64, LENGTH))

    def forward(self, x, kind):
        k = self.kind(kind)
        z = self.enc(torch.cat([x, k], 1))
        return self.dec(torch.cat([z, k], 1))


class EMAModel:
    def __init__(self, parameters, decay):
        self.decay = decay
        self.shadow_params = [p.clone().detach() for p in parameters]
        self.temp = None

    @torch.no_grad()
    def step(self, parameters):
        for s, p in zip(self.shadow_params, parameters):
            s.sub_((1 - self.decay) * (s - p))

    def store(self, parameters):
        self.temp = [p.detach().clone() for p in parameters]

    def copy_to(self, parameters):
        for s, p in zip(self.shadow_params, parameters):
            p.data.copy_(s)

    def restore(self, parameters):
        for c, p in zip(self.temp, parameters):
            p.data.copy_(c)
        self.temp = None


@torch.no_grad()
def log_validation(model, ema_model, batch):
    ema_model.store(model.parameters())
    ema_model.copy_to(model.parameters())
    model.eval()
    err = nn.functional.mse_loss(model(*batch), batch[0]).item()
    model.train()
    ema_model.restore(model.parameters())
    return err


def flat(model):
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def main(args):
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    gen = torch.Generator().manual_seed(args.seed)
    model = EnvelopeAE()
    ema_model = EMAModel(model.parameters(), decay=0.99)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.98))
    held_out = envelopes(256, torch.Generator().manual_seed(2024))
    jumps = []
    for global_step in range(1, args.steps + 1):
        wave, kind = envelopes(48, gen)
        loss = nn.functional.mse_loss(model(wave, kind), wave)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        ema_model.step(model.parameters())
        if global_step % args.validation_steps == 0:
            before = flat(model)
            val = log_validation(model, ema_model, held_out)
            jumps.append((flat(model) - before).norm().item())
            print(f"step {global_step} train {loss.item():.5f} val(ema) {val:.5f}")
    print(f"EVIDENCE weights_moved_by_validation={max(jumps):.4f} train_loss={loss.item():.5f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--validation-steps", type=int, default=50)
    main(parser.parse_args())
