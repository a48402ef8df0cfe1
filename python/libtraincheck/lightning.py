# SPDX-License-Identifier: Apache-2.0
"""For Lightning: Trainer(callbacks=[TrainCheckCallback("invariants.jsonl", on_violation="stop")])."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lightning.pytorch import Callback
else:
    try:
        from lightning.pytorch import Callback
    except ImportError:
        from pytorch_lightning import Callback

from ._callback import Checked

__all__ = ["TrainCheckCallback"]


class TrainCheckCallback(Checked, Callback):
    """
    Checks the run while it goes on, which traincheck-collect must have started.

    invariants: files or shipped sets. on_violation: "warn" in the log, or "stop" the training as well, in all processes:
    then fit() raises libtraincheck.TrainingStopped, by which the job ends with status 1.
    trace: its folder, if not that of traincheck-collect. suppress, output_dir: as of libtraincheck.check.
    The trainer's logger gets `traincheck/violations`.
    """

    _logged = -1

    def _log(self, trainer: Any) -> None:
        n = len(self.violations)
        if self._watch.live and trainer.logger and n != self._logged:
            trainer.logger.log_metrics({"traincheck/violations": n}, step=trainer.global_step)
            self._logged = n

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        self._watch.begin(trainer.is_global_zero)

    def on_train_batch_end(self, trainer: Any, pl_module: Any, *args: Any, **kwargs: Any) -> None:
        self._watch.look()
        self._log(trainer)
        if self._watch.stops and trainer.strategy.reduce_boolean_decision(self._watch.wants_stop, all=False):
            trainer.should_stop = self._watch.has_stopped = True

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        self._watch.end()
        self._log(trainer)
        self._watch.leave()
