"""pytorch/torchtitan issue 2972: the schedule adds the gradients of micro-batches and divides them by nothing."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "setups"))
import pipeline  # noqa: E402

RUN = {"options": "--stages 2", "world": 2, "names": ["factor", "setups/pipeline.py", "schedule.step("]}


def arguments():
    args = arguments_of_setup()
    args.scale = False  # wrong: the loss is a mean
    return args


arguments_of_setup = pipeline.arguments


if __name__ == "__main__":
    pipeline.main(arguments())

# SPDX-License-Identifier: Apache-2.0
