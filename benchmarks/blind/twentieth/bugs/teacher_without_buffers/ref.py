"""Domain adaptation of point cloud descriptors: a momentum teacher labels the target domain for the student."""
import argparse
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

CLASSES, DIM = 5, 12


def domain(n, gen, shift, scale):
    centres = torch.randn(CLASSES, DIM, generator=torch.Generator().manual_seed(3)) * 1.6
    y = torch.randint(0, CLASSES, (n,), generator=gen)
    return (centres[y] + torch.randn(n, DIM, generator=gen)) * scale + shift, y


def make_net():
    return nn.Sequential(
        nn.Linear(DIM, 64), nn.BatchNorm1d(64), nn.ReLU(),
        nn.Linear(64, 64), nn.BatchNorm1d(64), nn.ReLU(),
        nn.Linear(64, CLASSES),
    )


class MomentumUpdater:
    def __init__(self, tau=0.95):
        self.cur_tau = tau

    @torch.no_grad()
    def update(self, online_net, momentum_net):
        for op, mp in zip(online_net.parameters(), momentum_net.parameters()):
            mp.mul_(self.cur_tau).add_(op, alpha=1 - self.cur_tau)
        for ob, mb in zip(online_net.buffers(), momentum_net.buffers()):
            if ob.is_floating_point():
                mb.mul_(self.cur_tau).add_(ob, alpha=1 - self.cur_tau)
            else:
                mb.copy_(ob)


@torch.no_grad()
def accuracy(net, x, y):
    was_training = net.training
    net.eval()
    acc = (net(x).argmax(1) == y).float().mean().item()
    net.train(was_training)
    return acc


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--lr", type=float, default=0.02)
    p.add_argument("--steps", type=int, default=250)
    p.add_argument("--warm", type=int, default=60)
    args = p.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed + 11)
    shift = torch.full((DIM,), 0.8)

    student = make_net()
    optimizer = torch.optim.SGD(student.parameters(), lr=args.lr, momentum=0.9)
    for _ in range(args.warm):
        x, y = domain(64, gen, 0.0, 1.0)
        optimizer.zero_grad()
        F.cross_entropy(student(x), y).backward()
        optimizer.step()

    teacher = copy.deepcopy(student).requires_grad_(False).eval()
    updater = MomentumUpdater()
    xt, yt = domain(1000, torch.Generator().manual_seed(77), shift, 1.3)
    for step in range(args.steps):
        xs, ys = domain(32, gen, 0.0, 1.0)
        xu, _ = domain(64, gen, shift * min(1.0, 2 * step / args.steps), 1 + 0.3 * step / args.steps)
        with torch.no_grad():
            confidence, pseudo = teacher(xu).softmax(1).max(1)
        keep = confidence > 0.6
        logits = student(torch.cat([xs, xu]))
        loss = F.cross_entropy(logits[:32], ys)
        if keep.any():
            loss = loss + F.cross_entropy(logits[32:][keep], pseudo[keep])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        updater.update(student, teacher)
        if (step + 1) % 50 == 0:
            print(f"step {step + 1} loss {loss.item():.3f} kept {keep.float().mean():.2f}")
    lag = (teacher[1].running_mean - student[1].running_mean).norm() / student[1].running_mean.norm()
    print(f"EVIDENCE teacher_stat_lag={lag.item():.3f} teacher_target_acc={accuracy(teacher, xt, yt):.3f}")


if __name__ == "__main__":
    main()
