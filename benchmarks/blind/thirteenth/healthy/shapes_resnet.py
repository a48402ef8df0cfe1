"""A torchvision ResNet-style network on small colour shapes: augmentation, mixup, label smoothing, warmup and cosine."""

import argparse
import math

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
from torchvision.models.resnet import BasicBlock, ResNet
from torchvision.transforms import v2

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.05)
parser.add_argument("--steps", type=int, default=5, help="epochs")
args = parser.parse_args()
torch.set_num_threads(1)
torch.manual_seed(args.seed)

CLASSES, SIZE = 4, 24


class Shapes(Dataset):
    """Discs, squares, rings and crosses in any colour on a noisy ground."""

    def __init__(self, n, transform):
        self.transform = transform
        grid = torch.arange(SIZE, dtype=torch.float32)
        self.labels = torch.randint(0, CLASSES, (n,))
        self.images = torch.rand(n, 3, SIZE, SIZE) * 0.4
        for i, label in enumerate(self.labels.tolist()):
            radius = 4 + 3 * torch.rand(1).item()
            cy, cx = (8 + 8 * torch.rand(2)).tolist()
            dy, dx = (grid - cy)[:, None].abs(), (grid - cx)[None, :].abs()
            far = (dy**2 + dx**2).sqrt()
            inside = [
                far < radius,
                torch.maximum(dy, dx) < radius * 0.9,
                (far < radius) & (far > radius - 2.2),
                (torch.minimum(dy, dx) < 1.5) & (torch.maximum(dy, dx) < radius),
            ][label]
            self.images[i] += inside * (0.3 + 0.5 * torch.rand(3, 1, 1))
        self.images.clamp_(0, 1)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.transform(self.images[i]), self.labels[i]


normalise = v2.Normalize([0.3] * 3, [0.25] * 3)
augment = v2.Compose([v2.RandomHorizontalFlip(), v2.RandomCrop(SIZE, padding=2), normalise])
train_loader = DataLoader(Shapes(1000, augment), batch_size=40, shuffle=True, drop_last=True)
valid_loader = DataLoader(Shapes(300, normalise), batch_size=100)

net = ResNet(BasicBlock, [1, 1, 1, 1], num_classes=CLASSES)
net.conv1 = nn.Conv2d(3, 64, 3, stride=2, padding=1, bias=False)
net.layer3, net.layer4 = nn.Identity(), nn.Identity()
net.fc = nn.Linear(128, CLASSES)

mixup = v2.MixUp(alpha=0.2, num_classes=CLASSES)
criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
decay = [p for p in net.parameters() if p.ndim > 1]
plain = [p for p in net.parameters() if p.ndim <= 1]
optimizer = torch.optim.SGD(
    [{"params": decay, "weight_decay": 5e-4}, {"params": plain, "weight_decay": 0.0}],
    lr=args.lr, momentum=0.9, nesterov=True,
)
total, warmup = args.steps * len(train_loader), len(train_loader) // 2


def factor(step):
    if step < warmup:
        return (step + 1) / warmup
    return 0.5 * (1 + math.cos(math.pi * (step - warmup) / max(1, total - warmup)))


scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
best = 0.0
for epoch in range(args.steps):
    net.train()
    seen = 0.0
    for images, labels in train_loader:
        if torch.rand(1).item() < 0.5:
            images, labels = mixup(images, labels)
        loss = criterion(net(images), labels)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        scheduler.step()
        seen += loss.item()
    net.eval()
    correct = 0
    with torch.inference_mode():
        for images, labels in valid_loader:
            correct += (net(images).argmax(1) == labels).sum().item()
    accuracy = correct / len(valid_loader.dataset)
    best = max(best, accuracy)
    print(f"epoch {epoch} loss {seen / len(train_loader):.3f} accuracy {accuracy:.3f}")
print(f"best accuracy {best:.3f}")
