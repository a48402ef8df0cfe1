"""Few pictures, many views: a dataset with its own augmentation pipeline, read by two loader workers."""
import argparse

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, get_worker_info

SIDE = 12


class Compose:
    """Shift, flip, contrast and a hole, drawn from the pipeline's own generator."""

    def __init__(self, seed):
        self.random_generator = np.random.default_rng(seed)

    def set_random_seed(self, seed):
        self.random_generator = np.random.default_rng(seed)

    def __call__(self, image):
        draw = self.random_generator.random(6)
        shift = tuple(int(d * 9) - 4 for d in draw[:2])
        image = np.roll(image, shift, axis=(0, 1))
        if draw[2] < 0.5:
            image = image[:, ::-1]
        image = image * (0.6 + 0.8 * draw[3])
        top, left = (int(d * (SIDE - 4)) for d in draw[4:])
        image = image.copy()
        image[top:top + 4, left:left + 4] = 0
        return image, draw


def pictures(count, seed):
    """Four kinds of blobs: full, hollow, two dots, a cross."""
    rng = np.random.default_rng(seed)
    ys, xs = np.mgrid[:SIDE, :SIDE] - 5.5
    images, labels = [], rng.integers(0, 4, count)
    for label in labels:
        y, x = ys - rng.uniform(-4, 4), xs - rng.uniform(-4, 4)
        r = np.hypot(y, x)
        shape = [r < 2.5, (r > 1.6) & (r < 3), (np.abs(np.abs(x) - 2) < 1) & (np.abs(y) < 1), (np.abs(x) < 0.8) | (np.abs(y) < 0.8)]
        images.append(shape[label] * 1.0 + rng.normal(0, 0.25, (SIDE, SIDE)))
    return np.stack(images).astype(np.float32), labels


class Pictures(Dataset):
    def __init__(self, images, labels, augment=None):
        self.images, self.labels, self.augment = images, labels, augment

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        image, draw = self.augment(self.images[i])
        return torch.from_numpy(np.ascontiguousarray(image, dtype=np.float32))[None], int(self.labels[i]), torch.from_numpy(draw)


def seed_augmentation(worker_id):
    info = get_worker_info()
    info.dataset.augment.set_random_seed(info.seed % 2 ** 32)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=120)
    ap.add_argument("--batch", type=int, default=16)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    data = Pictures(*pictures(96, seed=11), augment=Compose(args.seed))
    loader = DataLoader(data, batch_size=args.batch, shuffle=True, num_workers=2,
                        multiprocessing_context="fork", worker_init_fn=seed_augmentation)
    net = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
                        nn.MaxPool2d(2), nn.Flatten(), nn.Linear(288, 64), nn.ReLU(), nn.Linear(64, 4))
    optimizer = torch.optim.Adam(net.parameters(), lr=args.lr)
    step, epoch, views = 0, 0, set()
    while step < args.steps:
        for x, y, draws in loader:
            loss = nn.functional.cross_entropy(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            views.update(round(d, 9) for d in draws[:, 0].tolist())
            step += 1
            if step == args.steps:
                break
        epoch += 1
        if epoch % 5 == 0:
            print(f"epoch {epoch} step {step} loss {loss.item():.4f}")
    images, labels = pictures(800, seed=12)
    with torch.no_grad():
        right = (net(torch.from_numpy(images)[:, None]).argmax(1) == torch.from_numpy(labels)).float().mean().item()
    print(f"EVIDENCE distinct_draws={len(views)} samples={step * args.batch} accuracy={right:.4f}")


if __name__ == "__main__":
    main()
