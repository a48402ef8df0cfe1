"""Vision: a small ResNet on drawn shapes, bf16 autocast, two micro-batches a step, warm-up and cosine, EMA of weights and buffers."""

import argparse
import tempfile
from pathlib import Path

import torch
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils.data import DataLoader, Dataset
from torchvision.transforms import v2

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--steps", type=int, default=6, help="epochs")
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)

SHAPES, SIZE, ACCUMULATE = ["disc", "ring", "square", "cross", "stripes"], 24, 2


def draw(kind):
    """One shape of random place, size and colour on a noisy coloured background."""
    y, x = torch.meshgrid(torch.arange(SIZE), torch.arange(SIZE), indexing="ij")
    cy, cx = torch.randint(8, SIZE - 8, (2,)).tolist()
    r = torch.randint(5, 9, ()).item()
    dy, dx = (y - cy).abs(), (x - cx).abs()
    far = (dy**2 + dx**2).float().sqrt()
    mask = {
        "disc": far < r,
        "ring": (far < r) & (far > r - 2.5),
        "square": (dy < r) & (dx < r),
        "cross": ((dy < 2) & (dx < r)) | ((dx < 2) & (dy < r)),
        "stripes": (dy < r) & (dx < r) & (y % 4 < 2),
    }[kind]
    back, front = torch.rand(3, 1, 1), torch.rand(3, 1, 1)
    image = torch.where(mask, front, back) + 0.15 * torch.randn(3, SIZE, SIZE)
    return (image.clamp(0, 1) * 255).to(torch.uint8)


class Shapes(Dataset):
    def __init__(self, n, transform):
        self.labels = torch.randint(0, len(SHAPES), (n,))
        self.images = [draw(SHAPES[k]) for k in self.labels.tolist()]
        self.transform = transform

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.transform(self.images[i]), self.labels[i]


plain = v2.Compose([v2.ToDtype(torch.float32, scale=True), v2.Normalize([0.5] * 3, [0.25] * 3)])
augmented = v2.Compose([v2.RandomHorizontalFlip(), v2.RandomCrop(SIZE, padding=2), *plain.transforms])


class Block(nn.Module):
    def __init__(self, cin, cout, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(cout)
        self.short = nn.Identity() if cin == cout and stride == 1 else nn.Conv2d(cin, cout, 1, stride, bias=False)

    def forward(self, x):
        h = torch.relu(self.bn1(self.conv1(x)))
        return torch.relu(self.bn2(self.conv2(h)) + self.short(x))


def build():
    return nn.Sequential(
        nn.Conv2d(3, 12, 3, 2, 1, bias=False), nn.BatchNorm2d(12), nn.ReLU(),
        Block(12, 12, 1), Block(12, 24, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(24, len(SHAPES)),
    )


@torch.no_grad()
def accuracy(net, loader):
    net.eval()
    hits = 0
    for images, labels in loader:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = net(images)
        hits += (logits.float().argmax(1) == labels).sum().item()
    return hits / len(loader.dataset)


train_loader = DataLoader(Shapes(1000, augmented), batch_size=32, shuffle=True, drop_last=True)
valid_loader = DataLoader(Shapes(300, plain), batch_size=100)
model = build()
ema = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.95), use_buffers=True)
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, nesterov=True, weight_decay=5e-4)
updates = args.steps * (len(train_loader) // ACCUMULATE)
warmup = max(1, updates // 10)
scheduler = SequentialLR(
    optimizer,
    [LinearLR(optimizer, start_factor=0.1, total_iters=warmup), CosineAnnealingLR(optimizer, T_max=updates - warmup)],
    milestones=[warmup],
)
criterion = nn.CrossEntropyLoss(label_smoothing=0.05)

with tempfile.TemporaryDirectory() as folder:
    best, path = -1.0, Path(folder) / "ema.pt"
    for epoch in range(args.steps):
        model.train()
        total, used = 0.0, len(train_loader) // ACCUMULATE * ACCUMULATE
        for k, (images, labels) in enumerate(train_loader):
            if k >= used:
                break
            with torch.autocast("cpu", dtype=torch.bfloat16):
                logits = model(images)
                loss = criterion(logits.float(), labels)
            (loss / ACCUMULATE).backward()
            total += loss.item()
            if (k + 1) % ACCUMULATE == 0:
                nn.utils.clip_grad_norm_(model.parameters(), 2.0)
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
                scheduler.step()
                ema.update_parameters(model)
        score = accuracy(ema, valid_loader)
        if score > best:
            best = score
            torch.save(ema.module.state_dict(), path)
        if epoch % 3 == 2:
            print(f"epoch {epoch + 1}: loss {total / used:.4f}, lr {scheduler.get_last_lr()[0]:.4f}, ema accuracy {score:.3f}")
    final = build()
    final.load_state_dict(torch.load(path, weights_only=True))
print(f"best averaged model: accuracy {accuracy(final, valid_loader):.3f}, plain model {accuracy(model, valid_loader):.3f}")
