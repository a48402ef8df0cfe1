"""Each rank shifts its logits by a maximum of its own."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "setups"))
import torch  # noqa: E402
import vocabulary  # noqa: E402

RUN = {"options": "--tp 2 --mode hand", "world": 2, "layout": "vocabulary", "names": ["", "", "# wrong"]}


class VocabularyLoss(vocabulary.VocabularyLoss):
    @staticmethod
    def forward(ctx, logits, targets, rank):
        highest = logits.max(-1)[0]
        # wrong: the maximum of all ranks
        shifted = logits - highest.unsqueeze(-1)
        size = logits.shape[-1]
        here = targets - rank * size
        is_other = (here < 0) | (here >= size)
        here = here.masked_fill(is_other, 0)
        wanted = shifted.gather(-1, here.unsqueeze(-1)).squeeze(-1).masked_fill(is_other, 0.0)
        torch.distributed.all_reduce(wanted)
        weights = shifted.exp()
        total = weights.sum(-1)
        torch.distributed.all_reduce(total)
        weights = weights / total.unsqueeze(-1)
        ctx.save_for_backward(weights, here, is_other)
        return total.log() - wanted, total.log() + highest


vocabulary.VocabularyLoss = VocabularyLoss


if __name__ == "__main__":
    vocabulary.main()

# SPDX-License-Identifier: Apache-2.0
