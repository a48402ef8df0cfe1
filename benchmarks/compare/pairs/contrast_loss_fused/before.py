"""SimCLR on the scikit-learn digits, scored with a nearest-neighbour probe."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier


def augment(x):
    shift = int(torch.randint(-1, 2, ()))
    x = torch.roll(x, shifts=shift, dims=3)
    x = x * (0.7 + 0.6 * torch.rand(x.shape[0], 1, 1, 1))
    keep = (torch.rand_like(x) > 0.1).float()
    return x * keep + 0.05 * torch.randn_like(x)


class Encoder(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
            nn.Flatten(), nn.Linear(32 * 16, 64), nn.ReLU())
        self.proj = nn.Sequential(nn.Linear(64, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, dim))

    def forward(self, x):
        return self.proj(self.body(x))


def nt_xent(a, b, temperature):
    z = F.normalize(torch.cat([a, b]), dim=1)
    n = a.shape[0]
    sim = z @ z.t() / temperature
    sim.fill_diagonal_(float("-inf"))
    target = torch.cat([torch.arange(n, 2 * n), torch.arange(0, n)])
    probs = sim.exp() / sim.exp().sum(dim=1, keepdim=True)
    picked = probs.gather(1, target.unsqueeze(1)).squeeze(1)
    return -picked.log().mean()


def probe(enc, x, y, cut):
    enc.eval()
    with torch.no_grad():
        feats = F.normalize(enc.body(x), dim=1).numpy()
    enc.train()
    knn = KNeighborsClassifier(5).fit(feats[:cut], y[:cut])
    return knn.score(feats[cut:], y[cut:])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--steps", type=int, default=40)
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    x_np, y = load_digits(return_X_y=True)
    x = torch.tensor(x_np, dtype=torch.float32).view(-1, 1, 8, 8) / 16.0
    cut = 1400
    enc = Encoder()
    opt = torch.optim.Adam(enc.parameters(), lr=args.lr, weight_decay=1e-5)

    for step in range(args.steps):
        pick = torch.randperm(cut)[:192]
        images = x[pick]
        z1, z2 = enc(augment(images)), enc(augment(images))
        loss = nt_xent(z1, z2, 0.3)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 5 == 0 or step == args.steps - 1:
            print("step", step, "loss", f"{loss.item():.8f}")

    print(f"EVIDENCE knn={probe(enc, x, y, cut):.4f}")


if __name__ == "__main__":
    main()
