"""Two generators that translate point clouds into each other; discriminators see a pool of old fakes."""
import argparse
import itertools
import random

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.002)
parser.add_argument("--steps", type=int, default=160)
args = parser.parse_args()
random.seed(args.seed)
torch.manual_seed(args.seed)
torch.set_num_threads(1)


class ImagePool:
    """Gives back what it got, or at times something older that it has kept."""

    def __init__(self, size=50):
        self.size, self.images = size, []

    def query(self, images):
        answer = []
        for image in images.detach():
            if len(self.images) < self.size:
                self.images.append(image)
                answer.append(image)
            elif random.random() > 0.5:
                place = random.randrange(self.size)
                answer.append(self.images[place])
                self.images[place] = image
            else:
                answer.append(image)
        return torch.stack(answer)


def mlp(out):
    return nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 32), nn.LeakyReLU(0.2), nn.Linear(32, out))


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = mlp(2)

    def forward(self, x):
        return x + self.body(x)


def set_requires_grad(nets, flag):
    for net in nets:
        for p in net.parameters():
            p.requires_grad = flag


def sample(domain, count=64):
    points = 0.3 * torch.randn(count, 2)
    return points + torch.tensor([-1.0, 0.0]) if domain == "A" else points * torch.tensor([1.0, 0.4]) + torch.tensor([1.0, 1.0])


netG_A, netG_B, netD_A, netD_B = Residual(), Residual(), mlp(1), mlp(1)
optimizer_G = torch.optim.Adam(itertools.chain(netG_A.parameters(), netG_B.parameters()), lr=args.lr, betas=(0.5, 0.999))
optimizer_D = torch.optim.Adam(itertools.chain(netD_A.parameters(), netD_B.parameters()), lr=args.lr, betas=(0.5, 0.999))
linear = lambda step: 1.0 - max(0, step - args.steps // 2) / (args.steps // 2 + 1)
schedulers = [torch.optim.lr_scheduler.LambdaLR(o, linear) for o in (optimizer_G, optimizer_D)]
pool_A, pool_B = ImagePool(), ImagePool()
gan, l1 = nn.MSELoss(), nn.L1Loss()
for step in range(args.steps):
    real_A, real_B = sample("A"), sample("B")
    fake_B, fake_A = netG_A(real_A), netG_B(real_B)
    rec_A, rec_B = netG_B(fake_B), netG_A(fake_A)
    set_requires_grad([netD_A, netD_B], False)
    optimizer_G.zero_grad()
    one = torch.ones(len(real_A), 1)
    loss_G = gan(netD_A(fake_B), one) + gan(netD_B(fake_A), one) + 2.0 * (l1(rec_A, real_A) + l1(rec_B, real_B))
    lambda_idt = 0.5 if step < args.steps // 4 else 0.0
    if lambda_idt > 0:
        loss_G = loss_G + lambda_idt * (l1(netG_A(real_B), real_B) + l1(netG_B(real_A), real_A))
    loss_G.backward()
    optimizer_G.step()
    set_requires_grad([netD_A, netD_B], True)
    optimizer_D.zero_grad()
    for net, real, fake in ((netD_A, real_B, pool_B.query(fake_B)), (netD_B, real_A, pool_A.query(fake_A))):
        loss_D = 0.5 * (gan(net(real), one) + gan(net(fake), torch.zeros_like(one)))
        loss_D.backward()
    optimizer_D.step()
    for scheduler in schedulers:
        scheduler.step()
    if step % 40 == 39:
        print(f"step {step + 1}: G {loss_G.item():.4f}, D {loss_D.item():.4f}, lr {optimizer_G.param_groups[0]['lr']:.5f}")
with torch.no_grad():
    there = netG_A(sample("A", 300))
print(f"mean of what A becomes: {there.mean(0).tolist()}, of B: {sample('B', 300).mean(0).tolist()}")

# SPDX-License-Identifier: Apache-2.0
