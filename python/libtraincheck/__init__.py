# SPDX-License-Identifier: Apache-2.0
"""
TrainCheck: learns invariants of healthy training runs and checks other runs by them.

    import libtraincheck

    report = libtraincheck.check("trace", "@all")
    for finding in report.findings:
        print(finding)
    print(libtraincheck.compare("trace", "healthy").first)  # why do two runs differ?

Traces are written by `traincheck-collect`; what runs under it may call `annotate_stage` and its like, which do nothing
elsewhere. Callbacks: `libtraincheck.transformers.TrainCheckCallback`, `libtraincheck.lightning.TrainCheckCallback`.
In a notebook: `%load_ext libtraincheck`.
"""

from typing import Any

from . import _library as _lib
from ._annotations import annotate, annotate_stage, annotate_step, trace_folder
from ._callback import TrainingStopped
from ._fleet import check, evidence, infer, merge
from ._library import TrainCheckError
from ._live import LiveCheck
from ._report import Comparison, Difference, Finding, Learned, Note, Report, Violation
from ._work import compare, read

__version__: str = _lib.library.tc_version().decode()
__all__ = ["Comparison", "Difference", "Finding", "LiveCheck", "Learned", "Note", "Report", "TrainCheckError", "TrainingStopped",
           "Violation", "annotate", "annotate_stage", "annotate_step", "check", "compare", "evidence", "infer", "merge", "read", "trace_folder"]


def load_ipython_extension(shell: Any) -> None:
    """For %load_ext libtraincheck."""
    from ._magic import register

    register(shell)
