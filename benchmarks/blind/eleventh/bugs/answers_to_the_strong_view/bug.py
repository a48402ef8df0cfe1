"""FixMatch with few labels: what the network says of a weak view is the label of a strong view if it is sure."""
import argparse

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def weak(x):
    return x + 0.05 * torch.randn_like(x)


def strong(x):
    """Shifted by up to one pixel, a square is cut out, noise is added."""
    out = x.view(-1, 8, 8).clone()
    for i in range(len(out)):
        dy, dx = torch.randint(-1, 2, (2,)).tolist()
        out[i] = out[i].roll((dy, dx), (0, 1))
        r, c = torch.randint(0, 6, (2,)).tolist()
        out[i, r:r + 3, c:c + 3] = 0
    return out.view_as(x) + 0.25 * torch.randn_like(x)


def infinite(loader):
    while True:
        yield from loader


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10))

    def forward(self, x):
        return self.net(x)


def train_step(model, optimizer, labelled, unlabelled, threshold=0.9, weight=1.0):
    x, y = labelled
    (u,) = unlabelled
    u_weak, u_strong = weak(u), strong(u)
    logits = model(torch.cat([weak(x), u_weak, u_strong]))
    logits_x = logits[:len(x)]
    logits_w, logits_s = logits[len(x):].chunk(2)
    with torch.no_grad():
        confidence, pseudo = logits_s.softmax(1).max(1)
        mask = (confidence >= threshold).float()
    loss_x = F.cross_entropy(logits_x, y)
    loss_u = (F.cross_entropy(logits_s, pseudo, reduction="none") * mask).mean()
    loss = loss_x + weight * loss_u
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss_x.item(), loss_u.item(), mask.mean().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--steps", type=int, default=300)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    x, y = load_digits(return_X_y=True)
    x, y = torch.tensor(x, dtype=torch.float32) / 16, torch.tensor(y)
    order = torch.randperm(len(x))
    few = torch.cat([order[:1300][y[order[:1300]] == c][:5] for c in range(10)])
    labelled = infinite(DataLoader(TensorDataset(x[few], y[few]), batch_size=25, shuffle=True))
    unlabelled = infinite(DataLoader(TensorDataset(x[order[:1300]]), batch_size=50, shuffle=True))
    test = order[1300:]
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    used, terms = [], []
    for step in range(1, args.steps + 1):
        loss_x, loss_u, share = train_step(model, optimizer, next(labelled), next(unlabelled))
        used.append(share)
        terms.append(loss_u)
        if step % 50 == 0:
            print(f"step {step}: labelled {loss_x:.4f}, unlabelled {loss_u:.4f}, used {share:.3f}")
    model.eval()
    with torch.no_grad():
        right = (model(x[test]).argmax(1) == y[test]).float().mean().item()
        hard = (model(strong(x[test])).argmax(1) == y[test]).float().mean().item()
    late = terms[len(terms) // 2:]
    print(f"EVIDENCE mean unlabelled loss {sum(late) / len(late):.4f}, test {right:.4f}, strong views {hard:.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
