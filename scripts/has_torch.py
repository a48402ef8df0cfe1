# SPDX-License-Identifier: Apache-2.0
"""Exit with 0 if this interpreter can run the examples: a torch that is supported, and, without --alone, scikit-learn."""

import sys

import torch
from pinned import PINNED, as_numbers

if "--alone" not in sys.argv:
    import sklearn  # noqa: F401
sys.exit(as_numbers(torch.__version__) < as_numbers(PINNED["OLDEST_TORCH"]))
