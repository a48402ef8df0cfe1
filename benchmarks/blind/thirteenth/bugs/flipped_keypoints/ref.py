"""Keypoints of stick figures: heatmaps from a small hourglass, soft-argmax, flips and shifts as augmentation."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=4e-3)
parser.add_argument("--steps", type=int, default=12, help="epochs")
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)

SIZE = 32
KEYPOINTS = ["head", "l_hand", "r_hand", "l_foot", "r_foot"]


def draw(points):
    """Dots on the joints and lines from the hip; the figure faces the camera, so left is on the right."""
    grid = torch.stack(torch.meshgrid(torch.arange(SIZE), torch.arange(SIZE), indexing="xy"), -1).float()
    hip = points[1:].mean(0)
    image = torch.zeros(SIZE, SIZE)
    for p in points:
        for a in torch.linspace(0, 1, 8):
            d = (grid - (a * p + (1 - a) * hip)).pow(2).sum(-1)
            image = torch.maximum(image, torch.exp(-d / 1.5))
    return image


def make_figures(n):
    images, keypoints = [], []
    for _ in range(n):
        centre = SIZE / 2 + 3 * torch.randn(2)
        pose = torch.tensor([[0.0, -9], [8, -3], [-8, -3], [4, 8], [-4, 8]]) + 1.5 * torch.randn(5, 2)
        points = (centre + pose).clamp(1, SIZE - 2)
        images.append(draw(points) + 0.1 * torch.randn(SIZE, SIZE))
        keypoints.append(points)
    return torch.stack(images).unsqueeze(1), torch.stack(keypoints)


class Figures(Dataset):
    def __init__(self, images, keypoints, train):
        self.images, self.keypoints, self.train = images, keypoints, train

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        image, points = self.images[i], self.keypoints[i].clone()
        if self.train:
            if torch.rand(()) < 0.5:
                image = image.flip(-1)
                points[:, 0] = SIZE - 1 - points[:, 0]
                points = points[[0, 2, 1, 4, 3]]
            dx, dy = torch.randint(-2, 3, (2,)).tolist()
            image = image.roll((dy, dx), dims=(-2, -1))
            points = points + torch.tensor([dx, dy])
        return image, points


class Hourglass(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.down1 = nn.Sequential(nn.Conv2d(1, width, 3, 2, 1), nn.BatchNorm2d(width), nn.ReLU())
        self.down2 = nn.Sequential(nn.Conv2d(width, 32, 3, 2, 1), nn.BatchNorm2d(32), nn.ReLU())
        self.mid = nn.Sequential(nn.Conv2d(32, 32, 5, 1, 2), nn.ReLU(), nn.Conv2d(32, 32, 5, 1, 2), nn.ReLU())
        self.up = nn.ConvTranspose2d(32, width, 4, 2, 1)
        self.out = nn.Conv2d(width, len(KEYPOINTS), 3, 1, 1)
        axis = torch.arange(SIZE // 2, dtype=torch.float32) * 2 + 0.5
        self.register_buffer("axis", axis)

    def forward(self, image):
        low = self.down1(image)
        heat = self.out(F.relu(self.up(self.mid(self.down2(low))) + low))
        prob = heat.flatten(2).softmax(-1).view_as(heat)
        px = (prob.sum(2) * self.axis).sum(-1)
        py = (prob.sum(3) * self.axis).sum(-1)
        return torch.stack([px, py], -1)


train_set = Figures(*make_figures(300), train=True)
valid_set = Figures(*make_figures(100), train=False)
train_loader = DataLoader(train_set, batch_size=32, shuffle=True, drop_last=True)
model = Hourglass()
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [8, 11], gamma=0.3)
for epoch in range(args.steps):
    model.train()
    total = 0.0
    for image, points in train_loader:
        loss = F.smooth_l1_loss(model(image), points)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    scheduler.step()
    if epoch % 4 == 3:
        print(f"epoch {epoch + 1}: loss {total / len(train_loader):.4f}")

model.eval()
with torch.no_grad():
    guess, truth = model(valid_set.images), valid_set.keypoints
error = (guess - truth).norm(dim=-1).mean(0)
pck = ((guess - truth).norm(dim=-1) < 3).float().mean(0)
print("within 3 pixels:", ", ".join(f"{name} {p:.2f}" for name, p in zip(KEYPOINTS, pck)))
print(f"EVIDENCE mean error of the paired keypoints {error[1:].mean():.2f} pixels, of the head {error[0]:.2f}")
