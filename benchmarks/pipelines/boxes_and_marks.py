"""Where is the square? A detector with three heads: is there one (logits), its box (smooth) and a mark inside (Huber), boxes only where there is one."""

import torch
import torch.nn.functional as F
from torch import nn

from options import options

SIZE = 12


def pictures(n):
    there = (torch.rand(n) < 0.7).float()
    corner, side = torch.randint(0, SIZE - 5, (n, 2)), torch.randint(2, 6, (n, 1))
    place = torch.arange(SIZE)
    rows = (place >= corner[:, :1]) & (place < corner[:, :1] + side)
    columns = (place >= corner[:, 1:]) & (place < corner[:, 1:] + side)
    picture = 0.3 * torch.randn(n, 1, SIZE, SIZE)
    picture[:, 0] += there[:, None, None] * (rows[:, :, None] & columns[:, None, :]).float()
    box = torch.cat([corner, corner + side], dim=1).float() / SIZE
    return picture, there, box, box.view(n, 2, 2).mean(dim=1)


class Detector(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1), nn.GroupNorm(2, width), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(width, width, 3, padding=1), nn.GroupNorm(2, width), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        )  # fmt: skip
        self.there, self.box, self.mark = nn.Linear(9 * width, 1), nn.Linear(9 * width, 4), nn.Linear(9 * width, 2)

    def forward(self, x):
        x = self.body(x)
        return self.there(x).squeeze(1), self.box(x).sigmoid(), self.mark(x)


def losses(model, batch):
    picture, there, box, mark = batch
    logit, found, centre = model(picture)
    has = there > 0
    return (F.binary_cross_entropy_with_logits(logit, there), F.smooth_l1_loss(found[has], box[has], beta=0.1),
            F.huber_loss(centre[has], mark[has], delta=0.2), F.l1_loss(found[has], box[has]))  # fmt: skip


def main():
    args = options(lr=4e-3, width=12, steps=60)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    model = Detector(args.width)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps)
    held_out = pictures(128)
    for step in range(args.steps):
        model.train()
        there, box, mark, corners = losses(model, pictures(32))
        optimizer.zero_grad()
        (there + 2 * box + mark + 0.5 * corners).backward()
        optimizer.step()
        schedule.step()
        if step % 15 == 14:
            model.eval()
            with torch.no_grad():
                print(f"step {step}:", " ".join(f"{loss.item():.4f}" for loss in losses(model, held_out)))


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
