"""A variational autoencoder with accelerate, stopped and taken up again; the divergence's weight rises with the step."""
import argparse
import json
import os
import tempfile

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class VAE(nn.Module):
    def __init__(self, inputs=24, latent=4):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(inputs, 64), nn.ReLU(), nn.Linear(64, 2 * latent))
        self.decoder = nn.Sequential(nn.Linear(latent, 64), nn.ReLU(), nn.Linear(64, inputs))

    def forward(self, x):
        mean, logvar = self.encoder(x).chunk(2, dim=1)
        z = mean + (0.5 * logvar).exp() * torch.randn_like(mean)
        divergence = 0.5 * (mean.pow(2) + logvar.exp() - 1 - logvar).sum(1)
        return (self.decoder(z) - x).pow(2).sum(1).mean(), divergence.mean()


class NetworkTrainer:
    def __init__(self, args, data):
        self.args, self.accelerator = args, Accelerator(cpu=True)
        model = VAE()
        optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
        loader = DataLoader(TensorDataset(data), batch_size=32, shuffle=True)
        self.model, self.optimizer, self.loader = self.accelerator.prepare(model, optimizer, loader)
        self.weights = []

    def train(self, max_train_steps, folder, resume=False):
        global_step = 0
        if resume:
            self.accelerator.load_state(folder)
            with open(os.path.join(folder, "resume_metadata.json")) as file:
                global_step = json.load(file)["global_step"]
        while global_step < max_train_steps:
            for (x,) in self.loader:
                weight = min(1.0, global_step / (0.4 * self.args.steps))
                self.weights.append(weight)
                error, divergence = self.model(x)
                self.accelerator.backward(error + weight * divergence)
                self.optimizer.step()
                self.optimizer.zero_grad()
                global_step += 1
                if global_step >= max_train_steps:
                    break
        self.accelerator.save_state(folder)
        with open(os.path.join(folder, "resume_metadata.json"), "w") as file:
            json.dump({"global_step": global_step}, file)
        print(f"step {global_step}: error {error.item():.4f}, divergence {divergence.item():.4f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.003)
    parser.add_argument("--steps", type=int, default=300)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    data = torch.randn(640, 4) @ torch.randn(4, 24) + 0.1 * torch.randn(640, 24)
    with tempfile.TemporaryDirectory() as folder:
        first = NetworkTrainer(args, data)
        first.train(args.steps * 3 // 5, folder)
        second = NetworkTrainer(args, data)
        second.train(args.steps, folder, resume=True)
    print(f"EVIDENCE the run ends with weight {first.weights[-1]:.3f} and goes on with {second.weights[0]:.3f}; "
          f"steps in all {len(first.weights) + len(second.weights)}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
