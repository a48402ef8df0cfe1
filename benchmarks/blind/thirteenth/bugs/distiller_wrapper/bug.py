"""Distil a wide teacher into a small student on the digits; the transfer set is augmented."""

import argparse

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=4e-3)
parser.add_argument("--steps", type=int, default=10, help="epochs of distillation")
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)

digits = load_digits()
x = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16
y = torch.tensor(digits.target)
train_idx, test_idx = train_test_split(range(len(y)), test_size=0.3, random_state=args.seed, stratify=y)
x_train, y_train, x_test, y_test = x[train_idx], y[train_idx], x[test_idx], y[test_idx]


def conv_block(cin, cout):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU())


class Teacher(nn.Module):
    def __init__(self, width=32, drop=0.4):
        super().__init__()
        self.body = nn.Sequential(
            conv_block(1, width), conv_block(width, width), nn.MaxPool2d(2), nn.Dropout2d(drop / 2),
            conv_block(width, 2 * width), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Dropout(drop),
        )
        self.head = nn.Linear(8 * width, 10)

    def forward(self, images):
        return self.head(self.body(images))


class Student(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(64, 10),
        )

    def forward(self, images):
        return self.net(images)


class Distiller(nn.Module):
    """Holds both networks, so that one call moves, saves or switches them."""

    def __init__(self, teacher, student, temperature=3.0, alpha=0.9):
        super().__init__()
        self.teacher = teacher.eval().requires_grad_(False)
        self.student = student
        self.temperature = temperature
        self.alpha = alpha

    def forward(self, images, target):
        with torch.no_grad():
            t_logits = self.teacher(images)
        s_logits = self.student(images)
        temp = self.temperature
        soft = F.kl_div(F.log_softmax(s_logits / temp, 1), F.softmax(t_logits / temp, 1), reduction="batchmean")
        hard = F.cross_entropy(s_logits, target)
        return self.alpha * temp**2 * soft + (1 - self.alpha) * hard


def augment(images):
    """Shade one random corner and add noise."""
    shade = torch.zeros_like(images)
    for k in range(len(images)):
        r, c = torch.randint(0, 5, (2,)).tolist()
        shade[k, :, r : r + 4, c : c + 4] = torch.rand(()) * 0.6
    return (images + shade + 0.1 * torch.randn_like(images)).clamp(0, 1.5)


@torch.no_grad()
def accuracy(net, images, target):
    net.eval()
    return (net(images).argmax(1) == target).float().mean().item()


loader = DataLoader(TensorDataset(x_train, y_train), batch_size=64, shuffle=True)
teacher = Teacher()
optimizer = torch.optim.AdamW(teacher.parameters(), lr=2e-3)
teacher.train()
for epoch in range(5):
    for images, target in loader:
        loss = F.cross_entropy(teacher(images), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
start = accuracy(teacher, x_test, y_test)
with torch.no_grad():
    reference = teacher(x_test).softmax(1)

distiller = Distiller(teacher, Student())
optimizer = torch.optim.AdamW(distiller.student.parameters(), lr=args.lr)
for epoch in range(args.steps):
    distiller.train()
    total = 0.0
    for images, target in loader:
        loss = distiller(augment(images), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 4 == 3:
        print(f"epoch {epoch + 1}: loss {total / len(loader):.4f}")
print(f"teacher {start:.3f}, student {accuracy(distiller.student, x_test, y_test):.3f}, loss {total / len(loader):.4f}")
with torch.no_grad():
    distiller.eval()
    moved = (teacher(x_test).softmax(1) - reference).abs().sum(1).mean().item()
print(f"EVIDENCE the frozen teacher's test probabilities moved by {moved:.4f}, distillation loss {total / len(loader):.4f}")
