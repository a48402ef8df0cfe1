"""RLHF in the small: a character model is pretrained, then tuned with PPO and a KL penalty to the pretrained one."""
import argparse
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, PROMPT, RESP = 12, 4, 10
LIKED = 3


def make_language(seed=7):
    g = torch.Generator().manual_seed(seed)
    logits = torch.randn(VOCAB, VOCAB, generator=g) * 1.5
    logits[:, LIKED] -= 1.0
    return torch.softmax(logits, -1)


def sample_text(table, n, length, gen):
    tok = torch.randint(0, VOCAB, (n,), generator=gen)
    cols = [tok]
    for _ in range(length - 1):
        tok = torch.multinomial(table[tok], 1, generator=gen).squeeze(1)
        cols.append(tok)
    return torch.stack(cols, 1)


class TinyLM(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.lm_head = nn.Linear(dim, VOCAB)

    def forward(self, tokens, h=None):
        y, h = self.rnn(self.emb(tokens), h)
        return self.lm_head(y), h


class ValueModel(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, 1)

    def forward(self, tokens):
        return self.head(self.rnn(self.emb(tokens))[0]).squeeze(-1)


def response_logps(model, tokens):
    logits, _ = model(tokens[:, :-1])
    lp = F.log_softmax(logits, -1).gather(2, tokens[:, 1:, None]).squeeze(2)
    return lp[:, PROMPT - 1:]


def pretrain(model, table, gen, iters=60):
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(iters):
        text = sample_text(table, 64, PROMPT + RESP, gen)
        logits, _ = model(text[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), text[:, 1:].flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"pretrained, loss {loss.item():.4f}")


class PPOTrainer:
    def __init__(self, policy, ref_policy, value_model, lr, kl_coef=0.4):
        self.policy, self.ref_policy, self.value_model = policy, ref_policy, value_model
        self.kl_coef = kl_coef
        self.opt = torch.optim.Adam([*policy.parameters(), *value_model.parameters()], lr=lr)

    @torch.no_grad()
    def generate(self, prompts):
        logits, h = self.policy(prompts)
        cols = [prompts]
        for _ in range(RESP):
            tok = torch.distributions.Categorical(logits=logits[:, -1]).sample()[:, None]
            cols.append(tok)
            logits, h = self.policy(tok, h)
        return torch.cat(cols, 1)

    def step(self, prompts):
        tokens = self.generate(prompts)
        score = (tokens[:, PROMPT:] == LIKED).float().sum(1)
        with torch.no_grad():
            old = response_logps(self.policy, tokens)
            ref = response_logps(self.ref_policy, tokens)
            values = self.value_model(tokens[:, :-1])[:, PROMPT - 1:]
            rewards = -self.kl_coef * (old - ref)
            rewards[:, -1] += score
            returns = rewards.flip(1).cumsum(1).flip(1)
            adv = returns - values
            adv = (adv - adv.mean()) / (adv.std() + 1e-6)
        for _ in range(3):
            logp = response_logps(self.policy, tokens)
            ratio = torch.exp(logp - old)
            pg = -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean()
            v = self.value_model(tokens[:, :-1])[:, PROMPT - 1:]
            loss = pg + 0.1 * F.mse_loss(v, returns)
            self.opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.policy.parameters(), 1.0)
            self.opt.step()
        return loss.item(), score.mean().item(), (old - ref).sum(1).mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=4e-3)
    ap.add_argument("--steps", type=int, default=80)
    ap.add_argument("--batch", type=int, default=128)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed + 2)
    table = make_language()

    policy = TinyLM()
    pretrain(policy, table, gen)
    trainer = PPOTrainer(policy=policy, ref_policy=copy.deepcopy(policy), value_model=ValueModel(), lr=args.lr)
    for step in range(args.steps):
        prompts = sample_text(table, args.batch, PROMPT, gen)
        loss, score, kl = trainer.step(prompts)
        if step % 20 == 0 or step == args.steps - 1:
            print(f"step {step:3d} loss {loss:.4f} score {score:.3f} kl {kl:.3f}")

    text = trainer.generate(sample_text(table, 512, PROMPT, torch.Generator().manual_seed(5)))
    nll = -table[text[:, PROMPT - 1:-1], text[:, PROMPT:]].log().mean().item()
    liked = (text[:, PROMPT:] == LIKED).float().mean().item()
    print(f"EVIDENCE text_nll={nll:.4f} liked={liked:.4f} kl={kl:.4f}")


if __name__ == "__main__":
    main()
