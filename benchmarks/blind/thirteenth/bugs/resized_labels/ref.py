"""Land cover from aerial tiles: a small encoder-decoder that predicts at a quarter of the tile's size."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=3e-3)
parser.add_argument("--steps", type=int, default=6, help="epochs")
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)

CLASSES = ["field", "road", "tree", "water", "roof"]
COLOURS = torch.tensor([[0.5, 0.6, 0.2], [0.55, 0.5, 0.45], [0.2, 0.4, 0.2], [0.15, 0.3, 0.5], [0.7, 0.4, 0.3]])
SIZE = 64


def make_tiles(n):
    rows, cols = torch.meshgrid(torch.arange(SIZE), torch.arange(SIZE), indexing="ij")
    labels = torch.zeros(n, SIZE, SIZE, dtype=torch.long)
    for k in range(n):
        label = labels[k]
        cy, cx, radius = *torch.randint(0, SIZE, (2,)).tolist(), torch.randint(8, 18, ()).item()
        label[(rows - cy) ** 2 + (cols - cx) ** 2 < radius**2] = 3
        for _ in range(torch.randint(2, 6, ()).item()):
            cy, cx = torch.randint(0, SIZE, (2,)).tolist()
            label[(rows - cy) ** 2 + (cols - cx) ** 2 < torch.randint(9, 30, ()).item()] = 2
        slope, start = torch.randn(()).item(), torch.randint(0, SIZE, ()).item()
        label[(rows - start - slope * (cols - SIZE // 2)).abs() < 3 * (1 + slope**2) ** 0.5] = 1
        for _ in range(torch.randint(2, 7, ()).item()):
            top, left = torch.randint(0, SIZE - 12, (2,)).tolist()
            h, w = torch.randint(7, 13, (2,)).tolist()
            label[top : top + h, left : left + w] = 4
    light = 0.8 + 0.4 * torch.rand(n, 1, 1, 1)
    images = COLOURS[labels] * light + 0.12 * torch.randn(n, SIZE, SIZE, 3)
    return images.permute(0, 3, 1, 2).contiguous(), labels.to(torch.uint8)


class CoverNet(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, width, 3, 2, 1), nn.BatchNorm2d(width), nn.ReLU())
        self.mid = nn.Sequential(nn.Conv2d(width, 32, 3, 2, 1), nn.BatchNorm2d(32), nn.ReLU())
        self.deep = nn.Sequential(nn.Conv2d(32, 48, 3, 2, 1), nn.BatchNorm2d(48), nn.ReLU())
        self.lateral = nn.Conv2d(32, 48, 1)
        self.head = nn.Sequential(nn.Conv2d(48, 32, 3, 1, 1), nn.ReLU(), nn.Conv2d(32, len(CLASSES), 1))

    def forward(self, images):
        mid = self.mid(self.stem(images))
        deep = F.interpolate(self.deep(mid), size=mid.shape[-2:], mode="bilinear", align_corners=False)
        return self.head(F.relu(deep + self.lateral(mid)))


def resize_labels(labels, size):
    small = F.interpolate(labels.unsqueeze(1).float(), size=size, mode="nearest-exact")
    return small.squeeze(1).long()


@torch.no_grad()
def iou_per_class(model, loader):
    model.eval()
    table = torch.zeros(len(CLASSES), len(CLASSES))
    for images, labels in loader:
        logits = F.interpolate(model(images), size=labels.shape[-2:], mode="bilinear", align_corners=False)
        index = labels.long().flatten() * len(CLASSES) + logits.argmax(1).flatten()
        table += torch.bincount(index, minlength=len(CLASSES) ** 2).view(len(CLASSES), -1)
    hit = table.diag()
    return hit / (table.sum(0) + table.sum(1) - hit).clamp(min=1)


train_loader = DataLoader(TensorDataset(*make_tiles(320)), batch_size=16, shuffle=True)
valid_loader = DataLoader(TensorDataset(*make_tiles(80)), batch_size=40)
model = CoverNet()
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr * 30, momentum=0.9, weight_decay=1e-4)
scheduler = torch.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=args.steps * len(train_loader), power=0.9)

for epoch in range(args.steps):
    model.train()
    total, road, pixels = 0.0, 0, 0
    for images, labels in train_loader:
        logits = model(images)
        target = resize_labels(labels, logits.shape[-2:])
        loss = F.cross_entropy(logits, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        total += loss.item()
        road += (target == 1).sum().item() / target.numel() - (labels == 1).sum().item() / labels.numel()
    if epoch % 2 == 1:
        iou = iou_per_class(model, valid_loader)
        print(f"epoch {epoch + 1}: loss {total / len(train_loader):.4f}, iou {[f'{v:.2f}' for v in iou]}")
extra = road / len(train_loader)
print(f"EVIDENCE road's share of the targets exceeds that of the labels by {extra:+.4f}, mean iou {iou.mean():.3f}, road {iou[1]:.3f}")
