"""Semi-supervised digits: a mean teacher gives consistency targets on unlabeled images."""
import argparse
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


class ConvNet(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(),
            nn.MaxPool2d(2), nn.Flatten(),
        )
        self.classifier = nn.Linear(16 * width, 10)

    def forward(self, x):
        return self.classifier(self.features(x))


class MeanTeacher(nn.Module):
    """Exponential average of a network, parameters and floating point buffers."""

    def __init__(self, model, decay):
        super().__init__()
        self.decay = decay
        self.module = copy.deepcopy(model)

    @torch.no_grad()
    def update_parameters(self, model):
        source = model.state_dict()
        for name, value in self.module.state_dict().items():
            if value.is_floating_point():
                value.mul_(self.decay).add_(source[name], alpha=1.0 - self.decay)
            else:
                value.copy_(source[name])

    def forward(self, x):
        return self.module(x)


def build_teacher(model, decay):
    teacher = MeanTeacher(model, decay)
    return teacher.requires_grad_(False).eval()


def load_split(seed, labeled):
    digits = load_digits()
    x = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16.0
    y = torch.tensor(digits.target)
    perm = torch.randperm(len(x), generator=torch.Generator().manual_seed(seed))
    x, y = x[perm], y[perm]
    return (x[:labeled], y[:labeled]), x[labeled:1300], (x[1300:], y[1300:])


def perturb(x):
    shift = torch.randint(-1, 2, (2,)).tolist()
    x = torch.roll(x, shifts=shift, dims=(2, 3))
    return x + 0.15 * torch.randn_like(x)


@torch.no_grad()
def evaluate(model, data):
    training = model.training
    model.eval()
    logits = model(data[0])
    model.train(training)
    return F.cross_entropy(logits, data[1]).item(), (logits.argmax(1) == data[1]).float().mean().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--labeled", type=int, default=100)
    parser.add_argument("--decay", type=float, default=0.95)
    parser.add_argument("--consistency", type=float, default=5.0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    labeled, unlabeled, test = load_split(args.seed, args.labeled)
    student = ConvNet()
    teacher = build_teacher(student, args.decay)
    optimizer = torch.optim.AdamW(student.parameters(), lr=args.lr, weight_decay=1e-3)

    for step in range(args.steps):
        pick = torch.randint(0, len(labeled[0]), (32,))
        free = unlabeled[torch.randint(0, len(unlabeled), (64,))]
        with torch.no_grad():
            target = F.softmax(teacher(perturb(free)), dim=1)
        logits = student(torch.cat([perturb(labeled[0][pick]), perturb(free)]))
        supervised = F.cross_entropy(logits[:32], labeled[1][pick])
        consistency = F.mse_loss(F.softmax(logits[32:], dim=1), target)
        weight = args.consistency * min(1.0, step / 40)
        loss = supervised + weight * consistency
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        teacher.update_parameters(student)
        if step % 20 == 0 or step == args.steps - 1:
            print(f"step {step:3d} supervised {supervised.item():.4f} consistency {consistency.item():.5f}")

    student_loss, student_acc = evaluate(student, test)
    loss, acc = evaluate(teacher, test)
    print(f"student loss {student_loss:.4f} accuracy {student_acc:.4f}")
    print(f"EVIDENCE teacher_accuracy={acc:.4f} teacher_loss={loss:.4f}")


if __name__ == "__main__":
    main()
