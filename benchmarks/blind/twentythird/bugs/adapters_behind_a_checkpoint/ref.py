"""LoRA on a frozen decoder, with activations recomputed in the backward pass to save memory."""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

VOCAB, LEN, DIM = 26, 20, 48


class LoRALinear(nn.Module):
    def __init__(self, base, r=4, alpha=8):
        super().__init__()
        self.base = base
        self.lora_A = nn.Parameter(torch.empty(r, base.in_features))
        self.lora_B = nn.Parameter(torch.zeros(base.out_features, r))
        self.scaling = alpha / r
        nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))

    def forward(self, x):
        return self.base(x) + F.linear(F.linear(x, self.lora_A), self.lora_B) * self.scaling


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.q_proj, self.k_proj, self.v_proj = (nn.Linear(DIM, DIM) for _ in range(3))
        self.o_proj = nn.Linear(DIM, DIM)
        self.fc_in, self.fc_out = nn.Linear(DIM, 2 * DIM), nn.Linear(2 * DIM, DIM)

    def forward(self, x):
        h = self.ln_1(x)
        q, k, v = (f(h).unflatten(-1, (4, -1)).transpose(1, 2) for f in (self.q_proj, self.k_proj, self.v_proj))
        x = x + self.o_proj(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.fc_out(F.gelu(self.fc_in(self.ln_2(x))))


class Decoder(nn.Module):
    def __init__(self, layers=3):
        super().__init__()
        self.embed_tokens, self.embed_positions = nn.Embedding(VOCAB, DIM), nn.Embedding(LEN, DIM)
        self.layers = nn.ModuleList(Layer() for _ in range(layers))
        self.final, self.lm_head = nn.LayerNorm(DIM), nn.Linear(DIM, VOCAB, bias=False)
        self.gradient_checkpointing = False

    def enable_input_require_grads(self):
        self.embed_tokens.register_forward_hook(lambda module, args, output: output.requires_grad_(True))

    def forward(self, ids):
        x = self.embed_tokens(ids) + self.embed_positions.weight[:ids.shape[1]]
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=True) if self.gradient_checkpointing and self.training else layer(x)
        return self.lm_head(self.final(x))


def add_adapters(model, names=("q_proj", "v_proj", "fc_in")):
    model.requires_grad_(False)
    for layer in model.layers:
        for name in names:
            setattr(layer, name, LoRALinear(getattr(layer, name)))
    model.lm_head.weight.requires_grad_(True)      # modules_to_save
    return [p for p in model.parameters() if p.requires_grad]


def text(gen, caesar, size=24):
    """Rows repeat a short word; the new domain says each repetition shifted by some letters."""
    period = 4
    word = torch.randint(0, VOCAB, (size, period), generator=gen)
    return torch.cat([(word + caesar * k) % VOCAB for k in range(LEN // period)], dim=1)


def lm_loss(model, ids):
    return F.cross_entropy(model(ids)[:, 3:-1].flatten(0, 1), ids[:, 4:].flatten())


def fit(model, params, lr, steps, gen, caesar):
    opt = torch.optim.AdamW(params, lr=lr, weight_decay=0.0)
    model.train()
    for step in range(steps):
        loss = lm_loss(model, text(gen, caesar))
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(params, 1.0)
        opt.step()
        if (step + 1) % 40 == 0:
            print(f"caesar {caesar} step {step + 1} loss {loss.item():.4f}")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--steps", type=int, default=80)
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    model = Decoder()
    fit(model, list(model.parameters()), 3e-3, 120, gen, caesar=0)
    params = add_adapters(model)
    model.gradient_checkpointing = True
    model.enable_input_require_grads()
    fit(model, params, args.lr, args.steps, gen, caesar=3)
    model.eval()
    with torch.no_grad():
        held = lm_loss(model, text(torch.Generator().manual_seed(5), 3, 96)).item()
        norms = [m.lora_B.norm().item() for m in model.modules() if isinstance(m, LoRALinear)]
    print(f"EVIDENCE moved={sum(n > 1e-6 for n in norms)}/{len(norms)} lora_B={sum(norms):.4f} held_out={held:.4f}")


if __name__ == "__main__":
    main()
