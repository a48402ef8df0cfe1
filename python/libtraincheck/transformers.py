# SPDX-License-Identifier: Apache-2.0
"""For transformers' Trainer: Trainer(..., callbacks=[TrainCheckCallback("invariants.jsonl", on_violation="stop")])."""

import sys
from typing import Any, Dict, Optional

from transformers.trainer_callback import TrainerCallback

from ._callback import Checked

__all__ = ["TrainCheckCallback"]


def _any_rank(flag: bool, device: Any) -> bool:
    """Does any process of the job say so? They must leave the loop together."""
    torch: Any = sys.modules["torch"]
    if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
        return flag
    said = torch.tensor(int(flag), device=device)
    torch.distributed.all_reduce(said, op=torch.distributed.ReduceOp.MAX)
    return bool(said.item())


# Without transformers pyright takes this file for it.
class TrainCheckCallback(Checked, TrainerCallback):  # pyright: ignore[reportGeneralTypeIssues]
    """
    Checks the run while it goes on, which traincheck-collect must have started.

    invariants: files or shipped sets. on_violation: "warn" in the log, or "stop" the training as well, in all processes:
    then train() raises libtraincheck.TrainingStopped, by which the job ends with status 1.
    trace: its folder, if not that of traincheck-collect. suppress, output_dir: as of libtraincheck.check.
    Logs get `traincheck/violations`.
    """

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._watch.begin(state.is_world_process_zero)

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._watch.look()
        if self._watch.stops and _any_rank(self._watch.wants_stop, args.device):
            control.should_training_stop = self._watch.has_stopped = True

    def on_log(self, args: Any, state: Any, control: Any, logs: Optional[Dict[str, Any]] = None, **kwargs: Any) -> None:
        if logs is not None and self._watch.live:
            for entry in [logs, *state.log_history[-1:]]:  # the Trainer made its copy before
                entry["traincheck/violations"] = len(self.violations)

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._watch.end()
        self._watch.leave()
