"""Pre-training of a character LM with deferred initialisation and a stop / resume in the middle."""
import argparse
import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn import datasets


class Config:
    dim = 48
    heads = 4
    layers = 2
    context = 32
    tie_word_embeddings = True


class Block(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.heads = cfg.heads
        self.ln1 = nn.LayerNorm(cfg.dim)
        self.qkv = nn.Linear(cfg.dim, 3 * cfg.dim, bias=False)
        self.out = nn.Linear(cfg.dim, cfg.dim, bias=False)
        self.ln2 = nn.LayerNorm(cfg.dim)
        self.fc = nn.Linear(cfg.dim, 4 * cfg.dim)
        self.proj = nn.Linear(4 * cfg.dim, cfg.dim)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.ln1(x)).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        att = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(att.transpose(1, 2).reshape(b, t, d))
        return x + self.proj(F.gelu(self.fc(self.ln2(x))))


class CausalLM(nn.Module):
    def __init__(self, vocab, cfg):
        super().__init__()
        self.cfg = cfg
        self.embed = nn.Embedding(vocab, cfg.dim)
        self.pos = nn.Embedding(cfg.context, cfg.dim)
        self.blocks = nn.ModuleList([Block(cfg) for _ in range(cfg.layers)])
        self.norm = nn.LayerNorm(cfg.dim)
        self.lm_head = nn.Linear(cfg.dim, vocab, bias=False)
        self.tie_weights()

    def tie_weights(self):
        if self.cfg.tie_word_embeddings:
            self.lm_head.weight = self.embed.weight

    def init_weights(self):
        for m in self.modules():
            if isinstance(m, (nn.Linear, nn.Embedding)):
                nn.init.normal_(m.weight, std=0.05)
                if getattr(m, "bias", None) is not None:
                    nn.init.zeros_(m.bias)
            elif isinstance(m, nn.LayerNorm):
                m.reset_parameters()

    def forward(self, ids):
        x = self.embed(ids) + self.pos(torch.arange(ids.size(1)))
        for b in self.blocks:
            x = b(x)
        return self.lm_head(self.norm(x))


def build_model(vocab, cfg):
    with torch.device("meta"):
        model = CausalLM(vocab, cfg)
    model.to_empty(device="cpu")
    model.init_weights()
    model.tie_weights()
    return model


def save_checkpoint(path, model, optimizer, step):
    state = model.state_dict()
    if model.cfg.tie_word_embeddings:
        state.pop("lm_head.weight")
    torch.save({"model": state, "optimizer": optimizer.state_dict(), "step": step}, path)


def load_checkpoint(path, model, optimizer):
    ckpt = torch.load(path)
    state = ckpt["model"]
    if model.cfg.tie_word_embeddings:
        state["lm_head.weight"] = state["embed.weight"]
    model.load_state_dict(state)
    optimizer.load_state_dict(ckpt["optimizer"])
    return ckpt["step"]


def corpus():
    loaders = (datasets.load_iris, datasets.load_wine, datasets.load_digits, datasets.load_diabetes)
    text = "\n".join(f().DESCR for f in loaders)
    chars = sorted(set(text))
    table = {c: i for i, c in enumerate(chars)}
    return torch.tensor([table[c] for c in text]), len(chars)


def batch_loss(model, data, gen, size=16):
    t = model.cfg.context
    at = torch.randint(0, len(data) - t - 1, (size,), generator=gen)
    chunk = torch.stack([data[i:i + t + 1] for i in at.tolist()])
    logits = model(chunk[:, :-1])
    return F.cross_entropy(logits.flatten(0, 1), chunk[:, 1:].flatten())


@torch.no_grad()
def validate(model, data):
    model.eval()
    gen = torch.Generator().manual_seed(1234)
    loss = sum(batch_loss(model, data, gen).item() for _ in range(6)) / 6
    model.train()
    return loss


def run(model, optimizer, data, gen, first, last):
    for step in range(first, last):
        loss = batch_loss(model, data, gen)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 20 == 0:
            print(f"step {step} loss {loss.item():.4f}")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=4e-3)
    ap.add_argument("--steps", type=int, default=80)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    data, vocab = corpus()
    split = int(0.9 * len(data))
    train, valid = data[:split], data[split:]
    stop = args.steps * 3 // 4

    model = build_model(vocab, Config())
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    run(model, optimizer, train, gen, 0, stop)
    before = validate(model, valid)
    folder = tempfile.TemporaryDirectory()
    path = os.path.join(folder.name, "last.pt")
    save_checkpoint(path, model, optimizer, stop)

    model = build_model(vocab, Config())
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    start = load_checkpoint(path, model, optimizer)
    folder.cleanup()
    resumed = validate(model, valid)
    print(f"resumed at step {start}: valid {before:.4f} -> {resumed:.4f}")
    run(model, optimizer, train, gen, start, args.steps)
    print(f"EVIDENCE valid_before={before:.4f} valid_after_resume={resumed:.4f} final_valid={validate(model, valid):.4f}")


if __name__ == "__main__":
    main()
