"""Policy gradient with a sampling engine of its own weights that sleeps while the trainer works."""
import argparse
import copy

import torch
from torch import nn

PUZZLES, DIGITS, ANSWER = 16, 10, 4


class Solver(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.puzzle = nn.Embedding(PUZZLES, dim)
        self.digit = nn.Embedding(DIGITS + 1, dim)
        self.rnn = nn.GRUCell(dim, dim)
        self.out = nn.Linear(dim, DIGITS)

    def step(self, digit, h):
        h = self.rnn(self.digit(digit), h)
        return self.out(h).log_softmax(-1), h

    def logps(self, puzzle, answer):
        h, digit, out = self.puzzle(puzzle), torch.full_like(puzzle, DIGITS), []
        for i in range(ANSWER):
            lp, h = self.step(digit, h)
            digit = answer[:, i]
            out.append(lp.gather(1, digit[:, None]))
        return torch.cat(out, 1)


class SamplingEngine:
    """Inference copy of the policy. sleep() puts the weights away, wake_up() brings them back."""

    def __init__(self, model):
        self.model = copy.deepcopy(model).requires_grad_(False)
        self.backing = {k: v.clone() for k, v in self.model.state_dict().items()}
        self.asleep = False

    @torch.no_grad()
    def sleep(self):
        for p in self.model.parameters():
            p.zero_()
        self.asleep = True

    def wake_up(self):
        if self.asleep:
            self.model.load_state_dict(self.backing)
        self.asleep = False

    def load_weights(self, state_dict):
        self.model.load_state_dict(state_dict)

    @torch.no_grad()
    def generate(self, puzzle, gen):
        h, digit, answer, logps = self.model.puzzle(puzzle), torch.full_like(puzzle, DIGITS), [], []
        for _ in range(ANSWER):
            lp, h = self.model.step(digit, h)
            digit = torch.multinomial(lp.exp(), 1, generator=gen).squeeze(1)
            answer.append(digit)
            logps.append(lp.gather(1, digit[:, None]))
        return torch.stack(answer, 1), torch.cat(logps, 1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--steps", type=int, default=110)
    ap.add_argument("--group", type=int, default=8)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    solution = torch.randint(DIGITS, (PUZZLES, ANSWER), generator=torch.Generator().manual_seed(12))
    policy = Solver()
    engine = SamplingEngine(policy)
    engine.sleep()
    optimizer = torch.optim.Adam(policy.parameters(), lr=args.lr)
    puzzles = torch.arange(PUZZLES).repeat_interleave(args.group)
    for step in range(args.steps):
        engine.wake_up()
        engine.load_weights(policy.state_dict())
        answer, sampled_logps = engine.generate(puzzles, gen)
        engine.sleep()

        reward = (answer == solution[puzzles]).float().mean(1)
        grouped = reward.view(PUZZLES, args.group)
        advantage = ((grouped - grouped.mean(1, keepdim=True)) / (grouped.std(1, keepdim=True) + 1e-4)).flatten()
        logps = policy.logps(puzzles, answer)
        gap = (logps.detach() - sampled_logps).abs().mean().item()
        loss = -(logps * advantage[:, None]).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimizer.step()
        if step % 30 == 0:
            print(f"step {step} reward {reward.mean():.3f} loss {loss.item():+.4f}")
    print(f"EVIDENCE sampling_logp_difference={gap:.4f} sampled_reward={reward.mean():.3f}")


if __name__ == "__main__":
    main()
