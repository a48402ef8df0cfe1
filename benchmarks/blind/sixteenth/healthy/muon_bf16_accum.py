"""Mini LM with a modded-nanoGPT style recipe: Muon for the matrices and AdamW for the (tied) embedding
and gains, bfloat16 autocast on CPU, token-weighted gradient accumulation over length-sorted
micro-batches, a context-length curriculum, a warmup-stable-decay schedule and a spike guard."""
import argparse
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F

PAD = 0


def newton_schulz(g, steps=5):
    a, b, c = 3.4445, -4.7750, 2.0315
    x = g.bfloat16()
    transposed = x.shape[0] > x.shape[1]
    if transposed:
        x = x.T
    x = x / (x.norm() + 1e-7)
    for _ in range(steps):
        s = x @ x.T
        x = a * x + (b * s + c * s @ s) @ x
    return (x.T if transposed else x).to(g.dtype)


class Muon(torch.optim.Optimizer):
    def __init__(self, params, lr, momentum=0.9):
        super().__init__(params, dict(lr=lr, momentum=momentum))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                buf = self.state[p].setdefault("buf", torch.zeros_like(p))
                buf.lerp_(p.grad, 1 - group["momentum"])
                upd = newton_schulz(p.grad.lerp(buf, group["momentum"]))
                p.add_(upd, alpha=-group["lr"] * max(1, p.shape[0] / p.shape[1]) ** 0.5)


class Block(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads = heads
        self.n1, self.n2 = nn.RMSNorm(d), nn.RMSNorm(d)
        self.qkv = nn.Linear(d, 3 * d, bias=False)
        self.proj = nn.Linear(d, d, bias=False)
        self.up, self.down = nn.Linear(d, 3 * d, bias=False), nn.Linear(3 * d, d, bias=False)
        nn.init.zeros_(self.proj.weight)
        nn.init.zeros_(self.down.weight)

    def forward(self, x, mask):
        b, t, d = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = x + self.proj(a.transpose(1, 2).reshape(b, t, d))
        return x + self.down(F.relu(self.up(self.n2(x))).square())


class TinyLM(nn.Module):
    def __init__(self, vocab, d=48, layers=2, max_len=48):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        nn.init.normal_(self.emb.weight, std=0.3)
        self.pos = nn.Embedding(max_len, d)
        self.blocks = nn.ModuleList(Block(d, 4) for _ in range(layers))
        self.norm = nn.RMSNorm(d)

    def forward(self, ids):
        t = ids.shape[1]
        causal = torch.ones(t, t, dtype=torch.bool).tril()
        mask = causal & (ids != PAD)[:, None, None, :] | torch.eye(t, dtype=torch.bool)
        x = self.emb(ids) + self.pos.weight[:t]
        for blk in self.blocks:
            x = blk(x, mask)
        return F.linear(self.norm(x), self.emb.weight)


class Corpus:
    def __init__(self, vocab, gen):
        self.vocab, self.gen = vocab, gen
        self.succ = torch.randint(1, vocab, (vocab, 2), generator=gen)

    def sentence(self, max_len):
        n = int(torch.randint(6, max_len + 1, (1,), generator=self.gen))
        flips = (torch.rand(n, generator=self.gen) < 0.15).long().tolist()
        cur = [int(torch.randint(1, self.vocab, (1,), generator=self.gen))]
        for f in flips:
            cur.append(int(self.succ[cur[-1], f]))
        return torch.tensor(cur)

    def micro_batches(self, n, micro, max_len):
        rows = sorted((self.sentence(max_len) for _ in range(n)), key=len)
        return [nn.utils.rnn.pad_sequence(rows[i:i + micro], batch_first=True, padding_value=PAD)
                for i in range(0, n, micro)]


def nll_sum(model, batch):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = model(batch[:, :-1])
    return F.cross_entropy(logits.float().flatten(0, 1), batch[:, 1:].flatten(), ignore_index=PAD, reduction="sum")


@torch.no_grad()
def evaluate(model, batches):
    return sum(nll_sum(model, b).item() for b in batches) / sum((b[:, 1:] != PAD).sum().item() for b in batches)


def wsd(step, total):
    warm, decay = max(1, total // 10), max(1, total // 3)
    return min((step + 1) / warm, 1.0, max(0.0, (total - step) / decay))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=0.02)
    ap.add_argument("--steps", type=int, default=60)
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    corpus = Corpus(48, torch.Generator().manual_seed(args.seed))
    valid = corpus.micro_batches(64, 16, 40)
    model = TinyLM(48)
    mats = [p for n, p in model.named_parameters() if n.startswith("blocks") and p.ndim == 2]
    rest = [p for n, p in model.named_parameters() if not (n.startswith("blocks") and p.ndim == 2)]
    opts = [Muon(mats, args.lr), torch.optim.AdamW(rest, lr=0.3 * args.lr, betas=(0.8, 0.95), weight_decay=0.0)]
    for o in opts:
        for g in o.param_groups:
            g["base"] = g["lr"]
    norms, spikes, first = deque(maxlen=20), 0, evaluate(model, valid)

    for step in range(args.steps):
        max_len = 12 if step < args.steps // 3 else 24 if step < 2 * args.steps // 3 else 40
        total_loss, tokens = 0.0, 0
        for batch in corpus.micro_batches(24, 6, max_len):
            loss = nll_sum(model, batch)
            loss.backward()
            total_loss += loss.item()
            tokens += int((batch[:, 1:] != PAD).sum())
        for p in model.parameters():
            if p.grad is not None:
                p.grad.div_(tokens)
        norm = nn.utils.get_total_norm([p.grad for p in model.parameters() if p.grad is not None]).item()
        spike = len(norms) >= 10 and norm > 3.0 * sorted(norms)[len(norms) // 2]
        norms.append(norm)
        if spike:
            spikes += 1
        else:
            for o in opts:
                for g in o.param_groups:
                    g["lr"] = g["base"] * wsd(step, args.steps)
                o.step()
        model.zero_grad(set_to_none=True)
        if (step + 1) % 10 == 0:
            print(f"{step + 1}: len<={max_len} train {total_loss / tokens:.3f} valid {evaluate(model, valid):.3f} norm {norm:.2f}")

    print(f"EVIDENCE val_first={first:.4f} val_final={evaluate(model, valid):.4f} skipped_spikes={spikes}")


if __name__ == "__main__":
    main()
