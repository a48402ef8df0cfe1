"""Where is the ball? Pictures of a moving camera and its matrix go in, the direction of the ball comes out."""
import argparse

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

HEIGHT, WIDTH = 10, 16


class BallScenes(Dataset):
    """Each item is a picture, its focal data (f, cx) and the sideways angle of the ball, as its tangent."""

    def __init__(self, count, seed, flip_prob=0.0):
        rng = np.random.default_rng(seed)
        self.rng = np.random.default_rng(seed + 1)
        self.flip_prob = flip_prob
        self.f = rng.uniform(7, 11, count)
        self.cx = rng.uniform(4.5, 10.5, count)
        self.u, self.v = rng.uniform(1, WIDTH - 2, count), rng.uniform(2, HEIGHT - 3, count)
        self.noise = rng.normal(0, 0.15, (count, HEIGHT, WIDTH))

    def __len__(self):
        return len(self.f)

    def picture(self, i):
        ys, xs = np.mgrid[:HEIGHT, :WIDTH]
        return np.exp(-((xs - self.u[i]) ** 2 + (ys - self.v[i]) ** 2) / 2.0) + self.noise[i]

    def __getitem__(self, i):
        img, f, cx = self.picture(i), self.f[i], self.cx[i]
        tangent = (self.u[i] - cx) / f
        if self.rng.random() < self.flip_prob:
            img = np.fliplr(img)
            cx = WIDTH - 1 - cx
            tangent = -tangent
        camera = np.array([f / 10, cx / WIDTH], dtype=np.float32)
        picture = torch.from_numpy(np.ascontiguousarray(img, dtype=np.float32))[None]
        return picture, torch.from_numpy(camera), np.float32(tangent)


class Pointer(nn.Module):
    def __init__(self):
        super().__init__()
        self.look = nn.Sequential(nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 16, 3, stride=2, padding=1), nn.ReLU(), nn.Flatten())
        self.think = nn.Sequential(nn.Linear(16 * 5 * 8 + 2, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, image, camera):
        return self.think(torch.cat([self.look(image), camera], dim=1)).squeeze(1)


def endless(loader):
    while True:
        yield from loader


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--steps", type=int, default=160)
    ap.add_argument("--flip-prob", type=float, default=0.5)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    train = BallScenes(400, seed=args.seed, flip_prob=args.flip_prob)
    batches = endless(DataLoader(train, batch_size=32, shuffle=True))
    net = Pointer()
    optimizer = torch.optim.AdamW(net.parameters(), lr=args.lr)
    for step in range(args.steps):
        image, camera, tangent = next(batches)
        loss = nn.functional.smooth_l1_loss(net(image, camera), tangent, beta=0.2)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 40 == 0:
            print(f"step {step} loss {loss.item():.4f}")
    image, camera, tangent = next(iter(DataLoader(BallScenes(400, seed=1000), batch_size=400)))
    with torch.no_grad():
        answer = net(image, camera)
    slope = ((answer * tangent).mean() / tangent.pow(2).mean()).item()
    print(f"EVIDENCE train_loss={loss.item():.4f} test_error={(answer - tangent).abs().mean().item():.4f} slope={slope:.4f}")


if __name__ == "__main__":
    main()
