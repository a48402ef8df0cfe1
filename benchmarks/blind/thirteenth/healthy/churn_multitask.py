"""Multi-task: churn, next month's spend and support tickets from one trunk; some labels are missing, task weights are learned."""

import argparse

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.metrics import r2_score, roc_auc_score
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=3e-3)
parser.add_argument("--steps", type=int, default=8, help="epochs")
args = parser.parse_args()
torch.manual_seed(args.seed)
rng = np.random.default_rng(args.seed)
torch.set_num_threads(1)


def make_customers(n):
    tenure, logins = rng.exponential(24, n), rng.poisson(8, n)
    plan, region = rng.integers(0, 4, n), rng.integers(0, 12, n)
    age, discount = rng.normal(41, 12, n), rng.binomial(1, 0.3, n)
    engagement = 0.3 * (logins - 8) - 0.5 * (plan == 0) + 0.02 * tenure
    churn = rng.random(n) < 1 / (1 + np.exp(0.4 + 1.2 * engagement + 0.8 * discount))
    spend = 3 + 2.0 * plan + 0.4 * logins * (1 + 0.5 * discount) + 0.02 * (age - 41) ** 1 + rng.normal(0, 1, n)
    tickets = rng.poisson(np.exp(0.2 + 0.3 * (plan == 3) + 0.15 * (region % 3) - 0.3 * engagement.clip(-2, 2)))
    numbers = np.stack([np.log1p(tenure), logins, age, discount], 1).astype(np.float32)
    targets = np.stack([churn, spend, tickets], 1).astype(np.float32)
    targets[rng.random((n, 3)) < np.array([0.1, 0.3, 0.2])] = np.nan
    return torch.tensor(np.stack([plan, region], 1)), torch.tensor(numbers), torch.tensor(targets)


class MultiTask(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.plan, self.region = nn.Embedding(4, 4), nn.Embedding(12, 6)
        self.trunk = nn.Sequential(
            nn.Linear(14, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Dropout(0.1), nn.Linear(width, width), nn.ReLU()
        )
        self.heads = nn.ModuleDict({
            name: nn.Sequential(nn.Linear(width, 24), nn.ReLU(), nn.Linear(24, 1)) for name in ("churn", "spend", "tickets")
        })

    def forward(self, codes, numbers):
        h = self.trunk(torch.cat([self.plan(codes[:, 0]), self.region(codes[:, 1]), numbers], 1))
        return {name: head(h).squeeze(1) for name, head in self.heads.items()}


class UncertaintyWeights(nn.Module):
    """Kendall et al.: one log variance per task."""

    def __init__(self, tasks):
        super().__init__()
        self.log_var = nn.ParameterDict({t: nn.Parameter(torch.zeros(())) for t in tasks})

    def forward(self, losses):
        return sum(torch.exp(-self.log_var[t]) * loss + 0.5 * self.log_var[t] for t, loss in losses.items())


def masked_mean(values, mask):
    return (values * mask).sum() / mask.sum().clamp(min=1)


def task_losses(out, targets):
    known = ~targets.isnan()
    targets = targets.nan_to_num(0.0)
    mask = known.float()
    churn = F.binary_cross_entropy_with_logits(out["churn"], targets[:, 0], reduction="none")
    spend = F.smooth_l1_loss(out["spend"], targets[:, 1], reduction="none")
    tickets = F.poisson_nll_loss(out["tickets"], targets[:, 2], log_input=True, full=True, reduction="none")
    return {
        "churn": masked_mean(churn, mask[:, 0]),
        "spend": masked_mean(spend, mask[:, 1]),
        "tickets": masked_mean(tickets, mask[:, 2]),
    }


codes, numbers, targets = make_customers(6000)
v_codes, v_numbers, v_targets = make_customers(1500)
mean, std = numbers.mean(0), numbers.std(0)
numbers, v_numbers = (numbers - mean) / std, (v_numbers - mean) / std
spend_mean, spend_std = np.nanmean(targets[:, 1]), np.nanstd(targets[:, 1])
for table in (targets, v_targets):
    table[:, 1] = (table[:, 1] - spend_mean) / spend_std

loader = DataLoader(TensorDataset(codes, numbers, targets), batch_size=128, shuffle=True, drop_last=True)
model = MultiTask()
weights = UncertaintyWeights(model.heads.keys())
optimizer = torch.optim.AdamW([
    {"params": model.trunk.parameters()},
    {"params": [*model.plan.parameters(), *model.region.parameters()], "weight_decay": 0.0},
    {"params": model.heads.parameters(), "lr": args.lr * 2},
    {"params": weights.parameters(), "lr": args.lr, "weight_decay": 0.0},
], lr=args.lr, weight_decay=1e-2)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.steps * len(loader), eta_min=1e-5)

for epoch in range(args.steps):
    model.train()
    sums = dict.fromkeys(model.heads, 0.0)
    for batch_codes, batch_numbers, batch_targets in loader:
        losses = task_losses(model(batch_codes, batch_numbers), batch_targets)
        loss = weights(losses)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        scheduler.step()
        for name, value in losses.items():
            sums[name] += value.item()
    if epoch % 4 == 3:
        print(f"epoch {epoch + 1}: " + ", ".join(f"{n} {s / len(loader):.4f}" for n, s in sums.items()))

model.eval()
with torch.no_grad():
    out = model(v_codes, v_numbers)
known = ~v_targets.isnan()
auc = roc_auc_score(v_targets[known[:, 0], 0], out["churn"][known[:, 0]])
r2 = r2_score(v_targets[known[:, 1], 1], out["spend"][known[:, 1]])
corr = np.corrcoef(v_targets[known[:, 2], 2], out["tickets"][known[:, 2]].exp())[0, 1]
print(f"churn auc {auc:.3f}, spend r2 {r2:.3f}, tickets correlation {corr:.3f}, weights {[f'{(-v).exp().item():.2f}' for v in weights.log_var.values()]}")
