"""A proportional-hazards network on a cohort of patients: mini-batch partial likelihood, concordance on held-out patients."""

import argparse
import copy

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--steps", type=int, default=1500)
    p.add_argument("--batch-size", type=int, default=128)
    return p.parse_args()


class Cohort(Dataset):
    """Covariates, follow-up in months and whether the event was seen (1) or the patient was censored (0)."""

    def __init__(self, n, rng):
        self.x = rng.normal(size=(n, 10)).astype("float32")
        x = self.x
        risk = 0.9 * x[:, 0] - 0.7 * x[:, 1] + 0.8 * np.tanh(x[:, 2] * x[:, 3]) + 0.6 * (np.abs(x[:, 4]) > 1)
        onset = 40.0 * rng.weibull(1.4, size=n) * np.exp(-risk / 1.4)
        leaves = rng.uniform(4.0, 90.0, size=n)
        self.months = np.minimum(onset, leaves).astype("float32")
        self.event = (onset <= leaves).astype("int64")

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.months[i], self.event[i]


class HazardNet(nn.Module):
    def __init__(self, features=10, width=48):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(features, width), nn.SiLU(), nn.Dropout(0.1), nn.Linear(width, width), nn.SiLU()
        )
        self.log_hazard = nn.Linear(width, 1, bias=False)

    def forward(self, x):
        return self.log_hazard(self.body(x)).squeeze(-1)


def neg_partial_log_likelihood(log_hz, event, time):
    order = torch.argsort(time)
    log_hz_sorted = log_hz[order]
    event_sorted = event[order]
    # all that are still under observation at the time of the event
    log_denominator = torch.logcumsumexp(log_hz_sorted.flip(0), dim=0).flip(0)
    pll = (log_hz_sorted - log_denominator)[event_sorted]
    return -pll.mean()


@torch.no_grad()
def concordance(model, cohort):
    model.eval()
    risk = model(torch.from_numpy(cohort.x))
    t, e = torch.from_numpy(cohort.months), torch.from_numpy(cohort.event)
    comparable = (t[:, None] < t[None, :]) & (e[:, None] == 1)
    right = (risk[:, None] > risk[None, :]) & comparable
    return (right.sum() / comparable.sum()).item()


def main():
    args = get_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    rng = np.random.default_rng(args.seed)
    train, valid, test = Cohort(1500, rng), Cohort(500, rng), Cohort(800, rng)
    loader = DataLoader(train, batch_size=args.batch_size, shuffle=True, drop_last=True)
    model = HazardNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-2)

    step, epoch, best, kept = 0, 0, 0.0, copy.deepcopy(model.state_dict())
    while step < args.steps:
        model.train()
        running = 0.0
        for x, months, event in loader:
            loss = neg_partial_log_likelihood(model(x), event, months)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            running += loss.item()
            step += 1
            if step >= args.steps:
                break
        epoch += 1
        if epoch % 10 == 0:
            c = concordance(model, valid)
            print(f"epoch {epoch:3d}  loss {running / len(loader):.3f}  c-index {c:.3f}")
            if c > best:
                best, kept = c, copy.deepcopy(model.state_dict())
    model.load_state_dict(kept)
    print(f"EVIDENCE c-index of test patients {concordance(model, test):.3f}")


if __name__ == "__main__":
    main()
