"""Self-distillation without labels (DINO): the last layer of the student's head stands still in the first steps."""
import argparse
import copy

import torch
import torch.nn.functional as F
from torch import nn


class ProjectionHead(nn.Module):
    def __init__(self, inputs, prototypes, freeze_last_layer):
        super().__init__()
        self.freeze_last_layer = freeze_last_layer
        self.layers = nn.Sequential(nn.Linear(inputs, 64), nn.GELU(), nn.Linear(64, 24))
        self.last_layer = nn.utils.parametrizations.weight_norm(nn.Linear(24, prototypes, bias=False))
        self.last_layer.parametrizations.weight.original0.data.fill_(1.0)
        self.last_layer.parametrizations.weight.original0.requires_grad_(False)

    def cancel_last_layer_gradients(self, step):
        if step < self.freeze_last_layer:
            for p in self.last_layer.parameters():
                p.grad = None

    def forward(self, x):
        return self.last_layer(F.normalize(self.layers(x), dim=-1))


class DINOLoss(nn.Module):
    def __init__(self, prototypes, center_momentum=0.9):
        super().__init__()
        self.center_momentum = center_momentum
        self.register_buffer("center", torch.zeros(prototypes))

    def forward(self, student, teacher):
        target = [((t - self.center) / 0.05).softmax(-1).detach() for t in teacher]
        guess = [(s / 0.1).log_softmax(-1) for s in student]
        pairs = [-(t * g).sum(-1).mean() for i, t in enumerate(target) for j, g in enumerate(guess) if i != j]
        with torch.no_grad():
            self.center.lerp_(torch.cat(teacher).mean(0), 1 - self.center_momentum)
        return sum(pairs) / len(pairs)


class DINO(nn.Module):
    def __init__(self, prototypes=32, freeze_last_layer=30):
        super().__init__()
        self.student_backbone = nn.Sequential(nn.Linear(20, 64), nn.GELU(), nn.Linear(64, 32))
        self.student_head = ProjectionHead(32, prototypes, freeze_last_layer)
        self.teacher_backbone = copy.deepcopy(self.student_backbone).requires_grad_(False)
        self.teacher_head = ProjectionHead(32, prototypes, freeze_last_layer).requires_grad_(False)
        self.teacher_head.load_state_dict(self.student_head.state_dict())

    def forward(self, x):
        return self.student_head(self.student_backbone(x))

    @torch.no_grad()
    def forward_teacher(self, x):
        return self.teacher_head(self.teacher_backbone(x))

    @torch.no_grad()
    def update_teacher(self, momentum):
        for student, teacher in ((self.student_backbone, self.teacher_backbone), (self.student_head, self.teacher_head)):
            for s, t in zip(student.parameters(), teacher.parameters()):
                t.lerp_(s, 1 - momentum)


def views(gen, count=64):
    """Two noisy views with holes of the same thing; things come in eight kinds."""
    kinds = 1.5 * torch.randn(8, 20, generator=torch.Generator().manual_seed(2))
    label = torch.randint(0, 8, (count,), generator=gen)
    thing = kinds[label] + 0.4 * torch.randn(count, 20, generator=gen)
    made = [thing * (torch.rand(count, 20, generator=gen) > 0.25) + 0.3 * torch.randn(count, 20, generator=gen) for _ in range(2)]
    return made, label


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=150)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    model, criterion = DINO(), DINOLoss(32)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=args.lr)
    gen = torch.Generator().manual_seed(args.seed)
    first = model.student_head.last_layer.weight.detach().clone()
    for step in range(args.steps):
        pair, _ = views(gen)
        loss = criterion([model(v) for v in pair], [model.forward_teacher(v) for v in pair])
        optimizer.zero_grad()
        loss.backward()
        model.student_head.cancel_last_layer_gradients(step)
        optimizer.step()
        model.update_teacher(0.98)
        if step + 1 == 30:
            early = (model.student_head.last_layer.weight.detach() - first).norm().item()
        if step % 30 == 0:
            print(f"step {step} loss {loss.item():.4f}")
    (a, _), label = views(torch.Generator().manual_seed(6), 512)
    with torch.no_grad():
        z = F.normalize(model.teacher_backbone(a), dim=-1)
        near = (z @ z.T).fill_diagonal_(-1).argmax(1)
    right = (label[near] == label).float().mean().item()
    print(f"EVIDENCE moved_while_held={early:.5f} loss={loss.item():.4f} neighbour_accuracy={right:.4f}")


if __name__ == "__main__":
    main()
