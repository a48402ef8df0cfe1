"""karpathy/build-nanogpt pull request 30: the last micro-batch runs without synchronisation."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "setups"))
import contextlib  # noqa: E402
import native  # noqa: E402

RUN = {"options": "--mode ddp --dp 2 --accumulate 2", "world": 2, "names": ["add_", "setups/native.py", "(loss / args.accumulate).backward()"]}


def quiet(model, net, args, is_last):
    return net.no_sync() if args.mode == "ddp" else contextlib.nullcontext()  # wrong: the last one must reduce


native.quiet = quiet


if __name__ == "__main__":
    native.main()

# SPDX-License-Identifier: Apache-2.0
