"""Small LM built on the meta device, trained, exported and restored for the final evaluation."""
import argparse
import io
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class LMConfig:
    vocab_size: int = 40
    hidden: int = 64
    layers: int = 2
    heads: int = 4
    max_len: int = 48
    tie_word_embeddings: bool = True


class SelfAttention(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.n_heads = cfg.heads
        self.wqkv = nn.Linear(cfg.hidden, 3 * cfg.hidden, bias=False)
        self.wo = nn.Linear(cfg.hidden, cfg.hidden, bias=False)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.wqkv(x).reshape(b, t, 3, self.n_heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.wo(out.transpose(1, 2).reshape(b, t, d))


class TransformerBlock(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.attn_norm = nn.RMSNorm(cfg.hidden, eps=1e-6)
        self.attn = SelfAttention(cfg)
        self.ffn_norm = nn.RMSNorm(cfg.hidden, eps=1e-6)
        self.w_in = nn.Linear(cfg.hidden, 4 * cfg.hidden, bias=False)
        self.w_out = nn.Linear(4 * cfg.hidden, cfg.hidden, bias=False)

    def forward(self, x):
        x = x + self.attn(self.attn_norm(x))
        return x + self.w_out(F.relu(self.w_in(self.ffn_norm(x))).square())


class CausalLM(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.config = cfg
        self.embed_tokens = nn.Embedding(cfg.vocab_size, cfg.hidden)
        self.embed_pos = nn.Embedding(cfg.max_len, cfg.hidden)
        self.blocks = nn.ModuleList(TransformerBlock(cfg) for _ in range(cfg.layers))
        self.final_norm = nn.RMSNorm(cfg.hidden, eps=1e-6)
        self.lm_head = nn.Linear(cfg.hidden, cfg.vocab_size, bias=False)

    def tie_weights(self):
        if self.config.tie_word_embeddings:
            self.lm_head.weight = self.embed_tokens.weight

    def init_weights(self):
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.normal_(module.weight, std=0.05)
            elif isinstance(module, nn.RMSNorm):
                nn.init.ones_(module.weight)

    def forward(self, input_ids):
        h = self.embed_tokens(input_ids) + self.embed_pos.weight[: input_ids.size(1)]
        for block in self.blocks:
            h = block(h)
        return self.lm_head(self.final_norm(h))


def build_model(cfg):
    with torch.device("meta"):
        model = CausalLM(cfg)
    model.to_empty(device="cpu")
    model.init_weights()
    model.tie_weights()
    return model


def export_state(model):
    state = model.state_dict()
    if model.config.tie_word_embeddings:
        state.pop("lm_head.weight")
    buffer = io.BytesIO()
    torch.save(state, buffer)
    return buffer.getvalue()


def restore(cfg, blob):
    state = torch.load(io.BytesIO(blob), weights_only=True)
    if cfg.tie_word_embeddings:
        state["lm_head.weight"] = state["embed_tokens.weight"]
    model = build_model(cfg)
    model.load_state_dict(state)
    return model


class ArithmeticText:
    """Sequences a, a+d, a+2d, ... modulo the vocabulary, with a little noise."""

    def __init__(self, cfg, seed):
        self.cfg = cfg
        self.gen = torch.Generator().manual_seed(seed)

    def batch(self, size):
        n, v = self.cfg.max_len, self.cfg.vocab_size
        start = torch.randint(v, (size, 1), generator=self.gen)
        delta = torch.randint(1, 4, (size, 1), generator=self.gen)
        ids = (start + delta * torch.arange(n)) % v
        noise = torch.rand(ids.shape, generator=self.gen) < 0.03
        return torch.where(noise, torch.randint(v, ids.shape, generator=self.gen), ids)


def lm_loss(model, ids):
    logits = model(ids[:, :-1])
    return F.cross_entropy(logits.reshape(-1, logits.size(-1)), ids[:, 1:].reshape(-1))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=4e-3)
    ap.add_argument("--steps", type=int, default=100)
    ap.add_argument("--batch_size", type=int, default=24)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    cfg = LMConfig()
    model = build_model(cfg)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.95), weight_decay=0.05)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, args.lr, total_steps=args.steps, pct_start=0.1)
    data = ArithmeticText(cfg, args.seed)

    for step in range(args.steps):
        loss = lm_loss(model, data.batch(args.batch_size))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        if step % 20 == 0 or step + 1 == args.steps:
            print(f"step {step} loss {loss.item():.4f} lr {scheduler.get_last_lr()[0]:.2e}")

    blob = export_state(model)
    final = restore(cfg, blob).eval()
    with torch.no_grad():
        val = lm_loss(final, ArithmeticText(cfg, args.seed + 500).batch(64)).item()
    print(f"exported {len(blob)} bytes")
    print(f"EVIDENCE restored_val_loss={val:.4f}")


if __name__ == "__main__":
    main()
