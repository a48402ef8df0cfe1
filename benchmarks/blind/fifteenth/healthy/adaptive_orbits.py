"""Learn the law of a damped pendulum from unevenly sampled tracks with a home-made adaptive solver."""
import argparse
import math

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=1e-2)
parser.add_argument("--steps", type=int, default=260)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)

TRACKS, POINTS = 24, 18


def law(t, s):
    return torch.stack([s[..., 1], -2.0 * torch.sin(s[..., 0]) - 0.25 * s[..., 1]], -1)


class StepFailed(RuntimeError):
    pass


class HeunEuler:
    """Embedded pair of orders 2 and 1; a step that errs too much is refused and tried again with a smaller one."""

    def __init__(self, tol, most=400):
        self.tol, self.most, self.calls, self.refused = tol, most, 0, 0

    def between(self, f, s, t0, t1, h):
        t, tries = t0, 0
        while t < t1 - 1e-9:
            tries += 1
            if tries > self.most:
                raise StepFailed
            h_now = min(h, t1 - t)
            k1 = f(t, s)
            k2 = f(t + h_now, s + h_now * k1)
            self.calls += 2
            new = s + 0.5 * h_now * (k1 + k2)
            with torch.no_grad():
                err = (0.5 * h_now * (k2 - k1)).abs().max().item() / self.tol
            if not math.isfinite(err):
                raise StepFailed
            if err <= 1 or h_now < 1e-3:
                s, t = new, t + h_now
            else:
                self.refused += 1
            h = h_now * min(2.0, max(0.3, 0.9 / math.sqrt(err + 1e-12)))
        return s, h

    def solve(self, f, s, times):
        h, out = 0.1, [s]
        for a, b in zip(times[:-1], times[1:]):
            s, h = self.between(f, s, a, b, h)
            out.append(s)
        return torch.stack(out)


def observe(n):
    """All tracks of a group share the times, which are uneven."""
    times = [0.0] + torch.rand(POINTS - 1).mul(5.5).add(0.05).sort().values.tolist()
    start = torch.stack([torch.rand(n) * 4 - 2, torch.rand(n) * 2 - 1], 1)
    with torch.no_grad():
        clean = HeunEuler(2e-3, 5000).solve(law, start, times)
    return times, clean, clean + 0.05 * torch.randn_like(clean)


class Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 2))
        nn.init.normal_(self.net[-1].weight, std=0.05)
        nn.init.zeros_(self.net[-1].bias)

    def forward(self, t, s):
        return self.net(s)


groups = [observe(TRACKS // 3) for _ in range(3)]
test_times, test_clean, _ = observe(40)
field = Field()
starts = nn.ParameterList(nn.Parameter(noisy[0].clone()) for _, _, noisy in groups)
opt = torch.optim.Adam(field.parameters(), lr=args.lr)
opt_starts = torch.optim.SGD(starts.parameters(), lr=args.lr, momentum=0.5)
sched = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, T_0=max(10, args.steps // 5), eta_min=args.lr / 20)

horizon, tol, step, failures, recent = 4, 0.05, 0, 0, []
while step < args.steps:
    step += 1
    g = int(torch.randint(0, 3, ()))
    times, _, noisy = groups[g]
    solver = HeunEuler(tol)
    # starts in the middle of a track, too, once the whole of it isn't needed
    first = 0 if horizon >= POINTS else int(torch.randint(0, POINTS - horizon + 1, ()))
    begin = starts[g] if first == 0 else noisy[first]
    span = times[first : first + horizon]
    try:
        path = solver.solve(field, begin, span)
    except StepFailed:
        failures += 1
        tol = min(0.2, tol * 1.5)
        continue
    wanted = noisy[first : first + horizon]
    fit = (path - wanted).square().mean()
    loss = fit
    if step % 4 == 0:  # smooth laws need fewer evaluations
        where = wanted.reshape(-1, 2)[torch.randperm(wanted.numel() // 2)[:32]].clone().requires_grad_(True)
        (slope,) = torch.autograd.grad(field(0.0, where).square().sum(), where, create_graph=True)
        loss = loss + 1e-5 * slope.square().mean()
    opt.zero_grad()
    opt_starts.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(field.parameters(), 1.0)
    opt.step()
    if first == 0 and step > args.steps // 3:
        opt_starts.step()
    sched.step()
    recent = (recent + [fit.item()])[-12:]
    if len(recent) == 12 and sum(recent) / 12 < 0.03 and horizon < POINTS:
        horizon, tol, recent = min(POINTS, horizon + 3), max(0.02, tol * 0.85), []
    if step % 40 == 0:
        print(f"{step:4d} fit {fit.item():.4f} horizon {horizon} tol {tol:.3f} calls {solver.calls} refused {solver.refused}")

# finish: all tracks, short pieces, a fixed grid so that the closure is smooth
finish = torch.optim.LBFGS(field.parameters(), lr=0.5, max_iter=12, history_size=8, line_search_fn="strong_wolfe")


def pieces():
    total = 0.0
    for times, _, noisy in groups:
        for k in range(0, POINTS - 3, 3):
            s = noisy[k]
            for i in range(k, k + 3):
                n = max(1, math.ceil((times[i + 1] - times[i]) / 0.2))
                h = (times[i + 1] - times[i]) / n
                for _ in range(n):
                    k1 = field(0.0, s)
                    s = s + 0.5 * h * (k1 + field(0.0, s + h * k1))
                total = total + (s - noisy[i + 1]).square().mean()
    return total / 15


def closure():
    finish.zero_grad()
    loss = pieces() + 1e-5 * sum(p.square().sum() for p in field.parameters())
    loss.backward()
    return loss


finish.step(closure)
with torch.no_grad():
    solver = HeunEuler(0.01, 5000)
    path = solver.solve(field, test_clean[0], test_times)
    error = (path - test_clean).square().mean().sqrt().item()
print(f"EVIDENCE error of unseen tracks {error:.3f}, horizon {horizon}, {failures} failures, {solver.calls} calls")
