"""A U-shaped network removes noise from digits: GradScaler, clipping of the unscaled gradients, OneCycleLR."""

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from options import options


def double_conv(inputs, outputs):
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, padding=1), nn.GroupNorm(4, outputs), nn.ReLU(inplace=True),
        nn.Conv2d(outputs, outputs, 3, padding=1), nn.GroupNorm(4, outputs), nn.ReLU(inplace=True),
    )  # fmt: skip


class UNet(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inc, self.down = double_conv(1, width), nn.Sequential(nn.MaxPool2d(2), double_conv(width, 2 * width))
        self.up = nn.ConvTranspose2d(2 * width, width, 2, stride=2)
        self.merge, self.outc = double_conv(2 * width, width), nn.Conv2d(width, 1, 1)

    def forward(self, x):
        skip = self.inc(x)
        x = self.up(self.down(skip))
        return self.outc(self.merge(torch.cat([skip, x], dim=1)))


def evaluate(net, loader, criterion):
    net.eval()
    total = 0.0
    with torch.no_grad():
        for (clean,) in loader:
            with torch.autocast("cpu", dtype=torch.bfloat16):
                total += criterion(net(clean + 0.3 * torch.randn_like(clean)), clean).item()
    net.train()
    return total / len(loader)


def main():
    args = options(lr=0.02, width=8, steps=40)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    images = torch.tensor(load_digits().images, dtype=torch.float32)[:, None] / 16
    train_loader = DataLoader(TensorDataset(images[:1280]), batch_size=64, shuffle=True)
    val_loader = DataLoader(TensorDataset(images[1280:]), batch_size=128)
    net, criterion = UNet(args.width), nn.MSELoss()
    optimizer = torch.optim.RMSprop(net.parameters(), lr=args.lr / 10, momentum=0.9)
    epochs = max(2, args.steps // len(train_loader))
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, args.lr / 10, total_steps=epochs * len(train_loader))
    grad_scaler = torch.amp.GradScaler("cpu", init_scale=2.0**8)
    for epoch in range(epochs):
        net.train()
        for (clean,) in train_loader:
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = criterion(net(clean + 0.3 * torch.randn_like(clean)), clean)
            optimizer.zero_grad(set_to_none=True)
            grad_scaler.scale(loss).backward()
            grad_scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            grad_scaler.step(optimizer)
            grad_scaler.update()
            scheduler.step()
        print(f"epoch {epoch}: loss {loss.item():.4f}, val {evaluate(net, val_loader, criterion):.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
