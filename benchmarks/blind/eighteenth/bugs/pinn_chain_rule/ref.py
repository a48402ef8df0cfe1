"""Physics-informed network for the damped oscillator u'' + c u' + k u = 0 on [0, T]."""
import argparse
import math

import torch
from torch import nn

T_END = 6.0
DAMPING, STIFFNESS = 0.4, 4.0


def exact_solution(t):
    delta = DAMPING / 2
    omega = math.sqrt(STIFFNESS - delta ** 2)
    return torch.exp(-delta * t) * (torch.cos(omega * t) + delta / omega * torch.sin(omega * t))


class Domain:
    """Maps physical time in [0, T] to the network's coordinate in [-1, 1]."""

    def __init__(self, t_end):
        self.t_end = t_end
        self.rate = 2.0 / t_end  # d tau / d t

    def to_unit(self, t):
        return t * self.rate - 1.0


class PINN(nn.Module):
    def __init__(self, width=40, depth=3):
        super().__init__()
        layers, last = [], 1
        for _ in range(depth):
            layers += [nn.Linear(last, width), nn.Tanh()]
            last = width
        layers.append(nn.Linear(last, 1))
        self.net = nn.Sequential(*layers)
        for m in self.net:
            if isinstance(m, nn.Linear):
                nn.init.xavier_normal_(m.weight)
                nn.init.zeros_(m.bias)

    def forward(self, tau):
        return self.net(tau)


def gradient(y, x):
    return torch.autograd.grad(y, x, grad_outputs=torch.ones_like(y), create_graph=True)[0]


def time_derivatives(model, domain, t):
    """u, u' and u'' with respect to physical time."""
    tau = domain.to_unit(t).requires_grad_(True)
    u = model(tau)
    u_t = gradient(u, tau) * domain.rate
    u_tt = gradient(u_t, tau) * domain.rate
    return u, u_t, u_tt


def pinn_loss(model, domain, t_colloc, t_zero):
    u, u_t, u_tt = time_derivatives(model, domain, t_colloc)
    residual = u_tt + DAMPING * u_t + STIFFNESS * u
    u0, v0, _ = time_derivatives(model, domain, t_zero)
    initial = (u0 - 1.0).pow(2).mean() + v0.pow(2).mean()
    return residual.pow(2).mean(), initial


@torch.no_grad()
def relative_error(model, domain):
    t = torch.linspace(0, T_END, 400).unsqueeze(1)
    truth = exact_solution(t)
    return ((model(domain.to_unit(t)) - truth).norm() / truth.norm()).item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=1.0)
    parser.add_argument("--steps", type=int, default=70)
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    domain = Domain(T_END)
    model = PINN()
    t_colloc = torch.linspace(0, T_END, 120).unsqueeze(1)
    t_zero = torch.zeros(1, 1)
    optimizer = torch.optim.LBFGS(model.parameters(), lr=args.lr, max_iter=8, history_size=50,
                                  line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        res, init = pinn_loss(model, domain, t_colloc, t_zero)
        loss = res + 20.0 * init
        loss.backward()
        return loss

    for step in range(1, args.steps + 1):
        optimizer.step(closure)
        if step % 10 == 0:
            res, init = pinn_loss(model, domain, t_colloc, t_zero)
            print(f"step {step} residual {res.item():.3e} initial {init.item():.3e}")

    print(f"EVIDENCE relative_l2_error {relative_error(model, domain):.4f}")


if __name__ == "__main__":
    main()
