# SPDX-License-Identifier: Apache-2.0
"""What a script says of itself. Under traincheck-collect it is recorded; elsewhere nothing happens."""

import sys
from typing import Any, Optional


def _agent(module: str) -> Any:
    return sys.modules.get(f"traincheck_agent.{module}")


def annotate(**fields: Any) -> None:
    """Say something of what comes: annotate(epoch=3, phase="warm-up"). None takes a field back."""
    if agent := _agent("annotations"):
        agent.annotate(**fields)


def annotate_stage(stage: Optional[str]) -> None:
    """Say what the script is doing now: "training", "evaluation", ..."""
    annotate(stage=stage)


def annotate_step(step: Optional[int]) -> None:
    """Say which step the script counts now; the steps of the trace are found without it."""
    annotate(step=step)


def trace_folder() -> Optional[str]:
    """Where this process is being traced to; None if it is not."""
    agent = _agent("settings")
    return getattr(agent, "output_dir", None) or None
