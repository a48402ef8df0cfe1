"""A denoising auto-encoder whose decoder holds a transposed copy of the encoder's matrix, kept equal after each step."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

from options import options


class TiedAutoEncoder(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.encoder = nn.Linear(64, width)
        self.mirror = nn.Linear(64, width, bias=False)
        self.bias = nn.Parameter(torch.zeros(64))
        self.mirror.load_state_dict({"weight": self.encoder.weight.detach()})

    def forward(self, x):
        h = torch.tanh(self.encoder(x))
        return F.linear(h, self.mirror.weight.t(), self.bias)


def share_gradients(model):
    pair = (self_w, mirror_w) = model.encoder.weight, model.mirror.weight
    mean = (self_w.grad + mirror_w.grad) / 2
    for p in pair:
        p.grad = mean.clone()


args = options(lr=0.5, width=24, steps=60)
torch.manual_seed(args.seed)
torch.set_num_threads(1)
images = torch.tensor(load_digits().data, dtype=torch.float32) / 16
train, test = images[:1500], images[1500:]
model = TiedAutoEncoder(args.width)
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=20, gamma=0.5)
for step in range(args.steps):
    batch = train[torch.randint(len(train), (128,))]
    noisy = batch + 0.1 * torch.randn_like(batch)
    optimizer.zero_grad()
    loss = F.mse_loss(model(noisy), batch)
    loss.backward()
    share_gradients(model)
    optimizer.step()
    scheduler.step()
    if step % 20 == 19:
        model.eval()
        with torch.no_grad():
            error = F.mse_loss(model(test), test).item()
        model.train()
        print(f"step {step + 1}: loss {loss.item():.4f}, test {error:.4f}")
print(f"difference of the copies {(model.encoder.weight - model.mirror.weight).abs().max().item():.6f}")

# SPDX-License-Identifier: Apache-2.0
