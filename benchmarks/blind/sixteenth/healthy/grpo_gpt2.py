"""Tiny GPT-2: supervised warm start, then group-relative policy optimisation (GRPO).

Rollouts come from the model itself (eval mode, KV cache, no grad); every rollout buffer is used for
two inner epochs of the clipped objective with a KL term to a frozen copy. Groups in which all the
rewards are equal carry no signal and are left out; if none is left, the rollout is repeated."""
import argparse
import copy

import torch
import torch.nn.functional as F
from transformers import DynamicCache, GPT2Config, GPT2LMHeadModel

BOS, SEP, EOS, DIGIT0 = 0, 1, 2, 3
N_DIGITS, PROMPT, REPLY = 6, 4, 5


def sample_prompts(n, gen):
    d = torch.randint(0, N_DIGITS, (n, PROMPT), generator=gen) + DIGIT0
    return torch.cat([torch.full((n, 1), BOS), d, torch.full((n, 1), SEP)], dim=1)


def reward_fn(prompts, replies):
    """Sorted copy of the prompt digits: share of right positions, plus a bonus for the stop token."""
    gold = prompts[:, 1:1 + PROMPT].sort(dim=1).values
    share = (replies[:, :PROMPT] == gold).float().mean(1)
    return share + 0.5 * (replies[:, PROMPT] == EOS).float()


def token_logps(model, seqs):
    logits = model(input_ids=seqs).logits[:, PROMPT + 1:-1]
    return F.log_softmax(logits, -1).gather(-1, seqs[:, PROMPT + 2:, None]).squeeze(-1)


@torch.no_grad()
def rollout(model, prompts, greedy=False):
    was_training = model.training
    model.eval()
    cache, cur, out = DynamicCache(config=model.config), prompts, []
    for _ in range(REPLY):
        o = model(input_ids=cur, cache=cache, use_cache=True)
        logits = o.logits[:, -1]
        if greedy:
            cur = logits.argmax(-1, keepdim=True)
        else:
            cur = torch.multinomial(logits.softmax(-1), 1)
        out.append(cur)
    model.train(was_training)
    return torch.cat(out, dim=1)


def supervised_phase(model, gen, steps, lr):
    opt = torch.optim.AdamW(model.parameters(), lr=lr)
    model.train()
    for step in range(steps):
        prompts = sample_prompts(32, gen)
        gold = prompts[:, 1:1 + PROMPT].sort(dim=1).values
        seqs = torch.cat([prompts, gold, torch.full((32, 1), EOS)], dim=1)
        loss = -token_logps(model, seqs).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"sft loss {loss.item():.3f}")


def make_buffer(model, ref, gen, n_prompts, group, max_tries=4):
    for attempt in range(max_tries):
        prompts = sample_prompts(n_prompts, gen).repeat_interleave(group, dim=0)
        replies = rollout(model, prompts)
        r = reward_fn(prompts, replies).view(n_prompts, group)
        adv = (r - r.mean(1, keepdim=True)) / (r.std(1, keepdim=True) + 1e-4)
        keep = (r.std(1) > 0).repeat_interleave(group)
        if keep.any():
            seqs = torch.cat([prompts, replies], dim=1)[keep]
            with torch.no_grad():
                model.eval()
                old, base = token_logps(model, seqs), token_logps(ref, seqs)
                model.train()
            return seqs, adv.flatten()[keep], old, base, r.mean().item()
    return None


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--steps", type=int, default=24)
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    cfg = GPT2Config(vocab_size=DIGIT0 + N_DIGITS, n_positions=16, n_embd=48, n_layer=2, n_head=4,
                     resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=BOS, eos_token_id=EOS)
    model = GPT2LMHeadModel(cfg)
    supervised_phase(model, gen, 22, 3e-3)

    ref = copy.deepcopy(model).eval().requires_grad_(False)
    test = sample_prompts(128, torch.Generator().manual_seed(args.seed + 500))
    before = reward_fn(test, rollout(model, test, greedy=True)).mean().item()
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.99), weight_decay=0.0)
    kl_coef, updates, skipped = 0.02, 0, 0
    model.train()
    for it in range(args.steps):
        buf = make_buffer(model, ref, gen, n_prompts=12, group=8)
        if buf is None:
            skipped += 1
            continue
        seqs, adv, old, base, mean_r = buf
        kls = []
        for epoch in range(2):
            for idx in torch.randperm(len(seqs)).split(48):
                new = token_logps(model, seqs[idx])
                ratio = (new - old[idx]).exp()
                a = adv[idx, None]
                pg = -torch.min(ratio * a, ratio.clamp(0.8, 1.2) * a).mean()
                diff = base[idx] - new
                kl = (diff.exp() - diff - 1).mean()
                loss = pg + kl_coef * kl
                opt.zero_grad(set_to_none=True)
                loss.backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
                opt.step()
                updates += 1
                kls.append(kl.item())
        mean_kl = sum(kls) / len(kls)
        kl_coef = min(0.2, kl_coef * 1.3) if mean_kl > 0.3 else max(0.005, kl_coef * 0.95)
        if (it + 1) % 6 == 0:
            print(f"iter {it + 1}: reward {mean_r:.3f} kl {mean_kl:.3f} coef {kl_coef:.3f} kept {len(seqs)}/96")

    after = reward_fn(test, rollout(model, test, greedy=True)).mean().item()
    print(f"EVIDENCE reward_before={before:.4f} reward_after={after:.4f} updates={updates} skipped={skipped}")


if __name__ == "__main__":
    main()
