"""Wasserstein GAN with manual optimisation: the critic takes four steps for one of the generator, its weights are clamped."""
import argparse
import logging
import warnings

import lightning as L
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def ring(count, seed):
    gen = torch.Generator().manual_seed(seed)
    angle = 6.2832 * torch.rand(count, generator=gen)
    radius = 1 + 0.1 * torch.randn(count, generator=gen)
    return torch.stack([radius * torch.cos(angle), radius * torch.sin(angle)], 1)


class RingGan(L.LightningModule):
    def __init__(self, lr, critic_steps=4, limit=0.1):
        super().__init__()
        self.automatic_optimization = False
        self.lr, self.critic_steps, self.limit = lr, critic_steps, limit
        self.generator = nn.Sequential(nn.Linear(4, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 2))
        self.critic = nn.Sequential(nn.Linear(2, 48), nn.LeakyReLU(0.2), nn.Linear(48, 48), nn.LeakyReLU(0.2), nn.Linear(48, 1))

    def training_step(self, batch, index):
        (real,) = batch
        generator_opt, critic_opt = self.optimizers()
        with torch.no_grad():
            fake = self.generator(torch.randn(len(real), 4))
        gap = self.critic(real).mean() - self.critic(fake).mean()
        critic_opt.zero_grad()
        self.manual_backward(-gap)
        critic_opt.step()
        with torch.no_grad():
            for p in self.critic.parameters():
                p.clamp_(-self.limit, self.limit)
        if (index + 1) % self.critic_steps == 0:
            self.critic.requires_grad_(False)
            score = self.critic(self.generator(torch.randn(len(real), 4))).mean()
            generator_opt.zero_grad()
            self.manual_backward(-score)
            generator_opt.step()
            self.critic.requires_grad_(True)
        self.gap = gap.item()

    def configure_optimizers(self):
        return [torch.optim.RMSprop(net.parameters(), lr=self.lr) for net in (self.generator, self.critic)]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--steps", type=int, default=300)
    args = ap.parse_args()
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module="lightning")
    L.seed_everything(args.seed, verbose=False)
    loader = DataLoader(TensorDataset(ring(64 * args.steps, args.seed)), batch_size=64, shuffle=True)
    model = RingGan(args.lr)
    trainer = L.Trainer(max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False,
                        enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(model, loader)
    with torch.no_grad():
        radius = model.generator(torch.randn(500, 4)).norm(dim=1)
    print(f"RESULT gap={model.gap:.4f} radius={radius.mean().item():.3f}")


if __name__ == "__main__":
    main()
