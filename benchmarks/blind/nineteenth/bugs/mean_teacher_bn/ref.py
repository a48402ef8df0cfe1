"""Semi-supervised digits: a student with few labels and a mean teacher that writes pseudo labels."""
import argparse
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


def load_data(seed, labelled):
    digits = load_digits()
    x = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1)
    y = torch.tensor(digits.target)
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(seed))
    x, y = x[order], y[order]
    return (x[:labelled], y[:labelled]), x[labelled:1300], (x[1300:], y[1300:])


def conv_bn(c_in, c_out):
    return nn.Sequential(nn.Conv2d(c_in, c_out, 3, padding=1, bias=False), nn.BatchNorm2d(c_out), nn.ReLU())


class SmallCNN(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.features = nn.Sequential(
            conv_bn(1, width), conv_bn(width, width), nn.MaxPool2d(2),
            conv_bn(width, width * 2), conv_bn(width * 2, width * 2),
        )
        self.head = nn.Linear(width * 2, 10)

    def forward(self, x):
        return self.head(self.features(x).mean(dim=(2, 3)))


def weak(x):
    return torch.roll(x, shifts=int(torch.randint(-1, 2, ())), dims=3)


def strong(x):
    x = torch.roll(x, shifts=int(torch.randint(-1, 2, ())), dims=2)
    x = x + torch.randn_like(x) * 1.5
    hole = torch.ones_like(x)
    top, left = int(torch.randint(0, 6, ())), int(torch.randint(0, 6, ()))
    hole[:, :, top:top + 3, left:left + 3] = 0
    return x * hole


class MeanTeacher:
    """Exponential moving average of a student network."""

    def __init__(self, student, tau=0.95):
        self.net = copy.deepcopy(student)
        self.net.requires_grad_(False)
        self.net.eval()
        self.tau = tau

    @torch.no_grad()
    def update(self, student):
        for online, momentum in zip(student.parameters(), self.net.parameters()):
            momentum.mul_(self.tau).add_(online, alpha=1.0 - self.tau)
        for online, momentum in zip(student.buffers(), self.net.buffers()):
            if online.is_floating_point():
                momentum.mul_(self.tau).add_(online, alpha=1.0 - self.tau)
            else:
                momentum.copy_(online)

    @torch.no_grad()
    def pseudo_label(self, x, threshold):
        probs = self.net(x).softmax(dim=1)
        confidence, label = probs.max(dim=1)
        return label, confidence >= threshold


@torch.no_grad()
def accuracy(net, x, y):
    was_training = net.training
    net.eval()
    acc = (net(x).argmax(1) == y).float().mean().item()
    net.train(was_training)
    return acc


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--labelled", type=int, default=80)
    parser.add_argument("--threshold", type=float, default=0.7)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    (lx, ly), ux, (test_x, test_y) = load_data(args.seed, args.labelled)
    student = SmallCNN()
    teacher = MeanTeacher(student)
    optimizer = torch.optim.AdamW(student.parameters(), lr=args.lr, weight_decay=1e-3)

    for step in range(args.steps):
        student.train()
        pick_l = torch.randint(0, len(lx), (32,))
        pick_u = torch.randint(0, len(ux), (64,))
        label, sure = teacher.pseudo_label(weak(ux[pick_u]), args.threshold)

        logits = student(torch.cat([weak(lx[pick_l]), strong(ux[pick_u])]))
        sup = F.cross_entropy(logits[:32], ly[pick_l])
        unsup = (F.cross_entropy(logits[32:], label, reduction="none") * sure).mean()
        ramp = min(1.0, step / (0.4 * args.steps))
        loss = sup + ramp * unsup

        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        teacher.update(student)
        if step % 20 == 0:
            print(f"step {step:3d} sup {sup.item():.4f} unsup {unsup.item():.4f} "
                  f"used {sure.float().mean().item():.2f}")

    print(f"EVIDENCE teacher_accuracy={accuracy(teacher.net, test_x, test_y):.4f} "
          f"student_accuracy={accuracy(student, test_x, test_y):.4f}")


if __name__ == "__main__":
    main()
