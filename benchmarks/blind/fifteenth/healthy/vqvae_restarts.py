"""VQ-VAE on pictures of two glyphs, with an EMA codebook in buffers, restarts of dead codes, and a prior learned beside it."""
import argparse

import torch
from torch import nn
from torch.nn import functional as F

K, D, SIDE = 48, 16, 16


def glyphs(n, gen):
    img = torch.zeros(n, 1, SIDE, SIDE)
    for k in range(n):
        for _ in range(2):
            y, x = torch.randint(0, SIDE - 5, (2,), generator=gen).tolist()
            kind = torch.randint(0, 3, (), generator=gen).item()
            if kind == 0:
                img[k, 0, y:y + 5, x:x + 2] = 1
            elif kind == 1:
                img[k, 0, y:y + 2, x:x + 5] = 1
            else:
                img[k, 0, y:y + 4, x:x + 4] = 0.6
    return img + 0.03 * torch.randn(img.shape, generator=gen)


class Codebook(nn.Module):
    def __init__(self, decay=0.95):
        super().__init__()
        self.decay = decay
        self.register_buffer("codes", torch.zeros(K, D))
        self.register_buffer("count", torch.zeros(K))
        self.register_buffer("total", torch.zeros(K, D))
        self.register_buffer("ready", torch.tensor(False))
        self.restarts = 0

    @torch.no_grad()
    def kmeans(self, z):
        codes = z[torch.randperm(len(z))[:K]].clone()
        for _ in range(5):
            near = torch.cdist(z, codes).argmin(1)
            for k in near.unique():
                codes[k] = z[near == k].mean(0)
        self.codes.copy_(codes)
        self.total.copy_(codes)
        self.count.fill_(1.0)
        self.ready.fill_(True)

    @torch.no_grad()
    def follow(self, z, idx):
        hot = F.one_hot(idx, K).float()
        self.count.mul_(self.decay).add_(hot.sum(0), alpha=1 - self.decay)
        self.total.mul_(self.decay).add_(hot.t() @ z, alpha=1 - self.decay)
        smooth = (self.count + 1e-3) / (self.count.sum() + K * 1e-3) * self.count.sum()
        self.codes.copy_(self.total / smooth[:, None])
        dead = self.count < 0.05
        if dead.any():
            picks = z[torch.randint(len(z), (int(dead.sum()),))]
            self.codes[dead] = picks
            self.total[dead] = picks
            self.count[dead] = 1.0
            self.restarts += int(dead.sum())

    def forward(self, z):
        flat = z.permute(0, 2, 3, 1).reshape(-1, D)
        if self.training and not self.ready:
            self.kmeans(flat.detach())
        idx = torch.cdist(flat.detach(), self.codes).argmin(1)
        q = self.codes[idx].view(z.shape[0], *z.shape[2:], D).permute(0, 3, 1, 2)
        commit = F.mse_loss(z, q)
        if self.training:
            self.follow(flat.detach(), idx)
        return z + (q - z).detach(), commit, idx.view(z.shape[0], -1)


class VQVAE(nn.Module):
    def __init__(self, w=24):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(1, w, 4, 2, 1), nn.ReLU(), nn.Conv2d(w, w, 4, 2, 1), nn.ReLU(), nn.Conv2d(w, D, 1))
        self.book = Codebook()
        self.dec = nn.Sequential(nn.Conv2d(D, w, 3, 1, 1), nn.ReLU(), nn.ConvTranspose2d(w, w, 4, 2, 1), nn.ReLU(),
                                 nn.ConvTranspose2d(w, 1, 4, 2, 1))

    def forward(self, x):
        q, commit, idx = self.book(self.enc(x))
        return self.dec(q), commit, idx


class Prior(nn.Module):
    """Codes in raster order, one after the other."""

    def __init__(self, w=48):
        super().__init__()
        self.emb = nn.Embedding(K + 1, w)
        self.pos = nn.Parameter(0.02 * torch.randn(16, w))
        self.rnn = nn.GRU(w, w, batch_first=True)
        self.out = nn.Linear(w, K)

    def forward(self, idx):
        shifted = F.pad(idx[:, :-1], (1, 0), value=K)
        return self.out(self.rnn(self.emb(shifted) + self.pos)[0])

    @torch.no_grad()
    def sample(self, n):
        idx = torch.zeros(n, 16, dtype=torch.long)
        for k in range(16):
            idx[:, k] = torch.multinomial(self(idx)[:, k].softmax(-1), 1)[:, 0]
        return idx


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--steps", type=int, default=600)
    a = ap.parse_args()
    torch.manual_seed(a.seed)
    torch.set_num_threads(1)
    gen = torch.Generator().manual_seed(a.seed + 31)
    train, test = glyphs(900, gen), glyphs(200, gen)
    vae, prior = VQVAE(), Prior()
    opt = torch.optim.Adam(vae.parameters(), lr=a.lr, betas=(0.9, 0.99))
    opt_prior = torch.optim.RMSprop(prior.parameters(), lr=a.lr)
    queue, pos = torch.randperm(len(train)), 0
    for step in range(a.steps):
        if pos + 32 > len(queue):            # what is left over goes to the front of the next round
            queue, pos = torch.cat([queue[pos:], torch.randperm(len(train))]), 0
        x = train[queue[pos:pos + 32]]
        pos += 32
        recon, commit, idx = vae(x)
        mse = F.mse_loss(recon, x)
        loss = 10 * mse + 0.25 * commit
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 2 == 1 and step > a.steps // 4:
            nll = F.cross_entropy(prior(idx).transpose(1, 2), idx)
            opt_prior.zero_grad()
            nll.backward()
            nn.utils.clip_grad_value_(prior.parameters(), 0.5)
            opt_prior.step()
        if step % 100 == 0:
            use = idx.unique().numel()
            print(f"{step} mse {mse.item():.4f} commit {commit.item():.4f} codes in the batch {use} restarts {vae.book.restarts}")
            with torch.no_grad():
                vae.eval()
                check = F.mse_loss(vae(test[:32])[0], test[:32]).item()
                vae.train()
            print(f"    test {check:.4f}")
    vae.eval()
    prior.eval()
    with torch.no_grad():
        recon, _, idx = vae(test)
        nll = F.cross_entropy(prior(idx).transpose(1, 2), idx).item()
        q = vae.book.codes[prior.sample(100)].view(100, 4, 4, D).permute(0, 3, 1, 2)
        ink = vae.dec(q).mean().item()
    print(f"EVIDENCE test mse {F.mse_loss(recon, test).item():.4f} nll {nll:.3f} codes used "
          f"{idx.unique().numel()} ink of samples {ink:.3f} (data {test.mean().item():.3f})")


if __name__ == "__main__":
    main()
