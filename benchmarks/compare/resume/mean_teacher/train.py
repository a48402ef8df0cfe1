"""Mean teacher on two moons: a moving average of the student gives targets."""
import argparse
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import make_moons


def make_student():
    return nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2))


@torch.no_grad()
def update_teacher(teacher, student, decay):
    for t, s in zip(teacher.parameters(), student.parameters()):
        t.mul_(decay).add_(s, alpha=1 - decay)


def restore(path, forget, student, teacher, optimizer, generator):
    state = torch.load(path)
    student.load_state_dict(state["student"])
    if forget == "ema":
        teacher.load_state_dict(state["student"])
    else:
        teacher.load_state_dict(state["ema"])
    optimizer.load_state_dict(state["optimizer"])
    generator.set_state(state["generator"])
    return state["step"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--save-at", type=int, default=10)
    parser.add_argument("--out")
    parser.add_argument("--resume")
    parser.add_argument("--forget", choices=["none", "ema"], default="none",
                        help="ema: start the average anew from the loaded student")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    points, labels = make_moons(1000, noise=0.1, random_state=args.seed)
    x = torch.tensor(points, dtype=torch.float32)
    y = torch.tensor(labels)
    generator = torch.Generator().manual_seed(args.seed)
    student = make_student()
    teacher = copy.deepcopy(student).requires_grad_(False)
    optimizer = torch.optim.Adam(student.parameters(), lr=1e-2)
    start = 0
    if args.resume:
        start = restore(args.resume, args.forget, student, teacher, optimizer, generator)

    for step in range(start, args.steps):
        if args.out and not args.resume and step == args.save_at:
            torch.save({
                "step": step,
                "student": student.state_dict(),
                "ema": teacher.state_dict(),
                "optimizer": optimizer.state_dict(),
                "generator": generator.get_state(),
            }, args.out)
        known = torch.randint(0, 40, (16,), generator=generator)
        other = torch.randint(40, 1000, (64,), generator=generator)
        noise = 0.1 * torch.randn(64, 2, generator=generator)
        with torch.no_grad():
            target = teacher(x[other]).softmax(-1)
        supervised = F.cross_entropy(student(x[known]), y[known])
        consistency = F.mse_loss(student(x[other] + noise).softmax(-1), target)
        loss = supervised + 4.0 * consistency
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        update_teacher(teacher, student, 0.9)
        print(f"step {step} loss {loss.item():.8f} consistency {consistency.item():.8f}")

    print("weight sum", repr(sum(p.double().sum().item() for p in student.parameters())))


if __name__ == "__main__":
    main()
