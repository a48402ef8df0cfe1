"""DPO of a small GPT-2: the policy learns to answer politely. Prompts are padded on the left, answers on the right."""
import argparse
import copy
import random

import torch
import torch.nn.functional as F
from transformers import GPT2Config, GPT2LMHeadModel

PAD, BOS, EOS, PLEASE = 0, 1, 2, 3
LETTERS, PROMPT, ANSWER = 10, 9, 6


def pair(rng):
    """The answer repeats the last letters; the chosen one says please first, the rejected one does not."""
    prompt = [BOS] + [4 + rng.randrange(LETTERS) for _ in range(rng.randrange(2, PROMPT))]
    said = prompt[-rng.randrange(1, 4):]
    said = [t for t in said if t != BOS]
    return prompt, [PLEASE, *said, EOS], [*said, EOS]


def pad_left(rows, width):
    return torch.tensor([[PAD] * (width - len(r)) + r for r in rows])


def pad_right(rows, width):
    return torch.tensor([r + [PAD] * (width - len(r)) for r in rows])


def collate(pairs):
    """Chosen rows first, then the rejected ones."""
    prompts = pad_left([p for p, _, _ in pairs] * 2, PROMPT)
    answers = pad_right([c for _, c, _ in pairs] + [r for _, _, r in pairs], ANSWER)
    return torch.cat([prompts, answers], dim=1), torch.cat([prompts != PAD, answers != PAD], dim=1).long()


def answer_logps(model, ids, attention_mask):
    """Sum of the log-probabilities of the answer's tokens."""
    position_ids = (attention_mask.cumsum(1) - 1).clamp(min=0)
    logits = model(input_ids=ids, attention_mask=attention_mask, position_ids=position_ids).logits[:, PROMPT - 1:-1]
    logps = logits.log_softmax(-1).gather(2, ids[:, PROMPT:, None]).squeeze(2)
    return (logps * attention_mask[:, PROMPT:]).sum(1)


def dpo_loss(policy_logps, reference_logps, beta):
    log_ratios = (policy_logps - reference_logps).chunk(2)
    margins = log_ratios[0] - log_ratios[1]
    return -F.logsigmoid(beta * margins).mean(), margins


def pretrain(model, rng, steps, lr):
    """Rows begin at position nought here, as in most corpora."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    for _ in range(steps):
        rows = []
        for _ in range(24):
            prompt, chosen, rejected = pair(rng)
            rows.append(prompt + rng.choice((chosen, rejected)))
        ids = pad_right(rows, PROMPT + ANSWER)
        labels = ids.masked_fill(ids == PAD, -100)
        loss = model(input_ids=ids, attention_mask=(ids != PAD).long(), labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"pre-trained, loss {loss.item():.4f}")


@torch.no_grad()
def please_rate(model, rng, count=60):
    """Asked as it is served: one prompt at a time, without pads."""
    said = 0.0
    for _ in range(count):
        prompt = torch.tensor([pair(rng)[0]])
        said += model(input_ids=prompt).logits[0, -1].softmax(-1)[PLEASE].item()
    return said / count


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=5e-4)
    ap.add_argument("--steps", type=int, default=30)
    ap.add_argument("--beta", type=float, default=0.3)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    rng = random.Random(args.seed)
    policy = GPT2LMHeadModel(GPT2Config(vocab_size=LETTERS + 4, n_positions=24, n_embd=48, n_layer=2, n_head=4,
                                        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=BOS, eos_token_id=EOS))
    pretrain(policy, rng, 100, 4e-3)
    reference = copy.deepcopy(policy).eval().requires_grad_(False)
    optimizer = torch.optim.AdamW(policy.parameters(), lr=args.lr)
    test_ids, test_mask = collate([pair(random.Random(500 + k)) for k in range(48)])
    start = answer_logps(reference, test_ids, test_mask).mean().item()
    for step in range(args.steps):
        ids, mask = collate([pair(rng) for _ in range(12)])
        with torch.no_grad():
            reference_logps = answer_logps(reference, ids, mask)
        loss, margins = dpo_loss(answer_logps(policy, ids, mask), reference_logps, args.beta)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 9:
            print(f"step {step + 1} loss {loss.item():.4f} margin {margins.mean().item():.3f}")
    with torch.no_grad():
        final, held = dpo_loss(answer_logps(policy, test_ids, test_mask), answer_logps(reference, test_ids, test_mask), args.beta)
    print(f"EVIDENCE reference_logp={start:.3f} loss={final.item():.4f} margin={held.mean().item():.3f} "
          f"please={please_rate(policy, random.Random(4)):.4f}")


if __name__ == "__main__":
    main()
