#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What tracing costs on a machine with a GPU, of NVIDIA or of AMD, and whether the kernel does right there.
#
# usage: device.sh [--bin FOLDER] [--python PYTHON] [--pairs N] [--steps N] [--only PROGRAM ...] [--parts PART ...]
#
# Needs the tools (--bin: bin/ of a build or of an environment with the wheel; default build/bin, or what is on PATH) and a
# Python with torch for CUDA or ROCm (default python3). Prints
#   1. the device, its driver, torch, and the libraries that the agent would load;
#   2. bandwidth of the kernel, and the time of a look at 200 small tensors;
#   3. whether the trace of a program whose numbers are the same on all devices is that of the CPU, with all content too;
#   4. the time of a step of ResNet-50, GPT-2 small (eager and compiled, bfloat16) and a Llama of 1.2 billion parameters, traced
#      full, selective and with --content off: each pair interleaved with a plain run, whose losses must be the same bits;
#   5. notes of the agent in a trace of GPT-2, which say so where it did not use the kernel; and how often torch's profiler saw it launched;
#   6. what compute-sanitizer finds in the kernel, where it is installed.
# Some 40 minutes. Parts: kernel (2), same (3), steps (4), notes (5), sanitizer (6); default all. Where a machine is lent for minutes, one
# part at a time, and of the steps one program (--only gpt2 --pairs 1). Exit status 1 if anything is wrong, 2 if it cannot begin.
#
# BENCH_DEVICE=cpu BENCH_TINY=1 LD_LIBRARY_PATH=$PWD/build/tests/python/standin tries all of it without a GPU; with STANDIN_HIP=1 as one of AMD.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
programs=(resnet50 gpt2 gpt2-compiled llama1b)
all_parts=(kernel same steps notes sanitizer)
bin='' python=python3 pairs=3 n_steps='' only=("${programs[@]}")
parts=("${all_parts[@]}")

stop() { echo "device.sh: $1" >&2; exit 2; }

# number NAME VALUE LEAST
number() { case $2 in '' | *[!0-9]*) stop "$1: a number" ;; esac; [ "$2" -ge "$3" ] || stop "$1: $3 or more"; }

# each_of NAME "ALLOWED ..." VALUE ...
each_of() {
    local name=$1 allowed=$2 value
    shift 2
    [ $# -gt 0 ] || stop "$name: one or more of $allowed"
    for value in "$@"; do
        case " $allowed " in *" $value "*) ;; *) stop "$name: no $value, but $allowed" ;; esac
    done
}

while [ $# -gt 0 ]; do
    case $1 in
    --bin | --python | --pairs | --steps) [ $# -gt 1 ] || stop "$1 needs a value" ;;
    esac
    case $1 in
    --bin) bin=$2; shift 2 ;;
    --python) python=$2; shift 2 ;;
    --pairs) pairs=$2; shift 2 ;;
    --steps) n_steps=$2; shift 2 ;;
    --only) shift; only=(); while [ $# -gt 0 ] && [ "${1#--}" = "$1" ]; do only+=("$1"); shift; done ;;
    --parts) shift; parts=(); while [ $# -gt 0 ] && [ "${1#--}" = "$1" ]; do parts+=("$1"); shift; done ;;
    --help) sed -n '3,20s/^# \{0,1\}//p' "$0"; exit ;;
    *) stop "no option $1; --help shows them" ;;
    esac
done
number --pairs "$pairs" 1
[ -z "$n_steps" ] || number --steps "$n_steps" 11
each_of --only "${programs[*]}" "${only[@]}"
each_of --parts "${all_parts[*]}" "${parts[@]}"
command -v "$python" >/dev/null || stop "no $python: name an interpreter with torch for CUDA with --python"
if [ -z "$bin" ]; then
    bin=$root/build/bin
    [ -x "$bin/traincheck-collect" ] || bin=$(dirname "$(command -v traincheck-collect || echo "$bin/x")")
fi
[ -x "$bin/traincheck-collect" ] || stop "no traincheck-collect in $bin: name its folder with --bin"
export CUBLAS_WORKSPACE_CONFIG=:4096:8 # deterministic sums of cuBLAS
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
wrong=0

kernel() { "$python" "$here/kernel_speed.py" || wrong=1; }

same() {
    local options
    for options in "" "--content full"; do
        echo "-- ${options:-as it is}"
        "$python" "$here/same.py" --bin "$bin" --python "$python" --options "$options" || wrong=1
    done
}

steps() {
    local out=$work/steps
    "$python" "$here/run.py" --bin "$bin" --python "$python" --only "${only[@]}" --modes full selective no-content --pairs "$pairs" \
        ${n_steps:+--steps "$n_steps"} | tee "$out" || wrong=1
    grep -q 'not those of the plain run\|exit ' "$out" && wrong=1
}

notes() {
    local standin=()
    if [ "${BENCH_DEVICE:-}" = cpu ]; then
        mapfile -t standin < <(PYTHONPATH=$root/benchmarks "$python" -c 'import sys, harness; print("\n".join("=".join(i) for i in harness.stand_in(sys.argv[1]).items()))' "$bin/..")
        [ ${#standin[@]} -gt 0 ] || { wrong=1; return; }
    fi
    env "${standin[@]}" BENCH_MODEL=gpt2 BENCH_STEPS=5 "$bin/traincheck-collect" -q --overwrite --python "$python" -o "$work/trace" \
        -- "$python" "$here/programs/device.py" || { wrong=1; return; }
    "$python" - "$root" "$work/trace" <<'PY' || wrong=1
import json, pathlib, sys
sys.path.insert(0, str(pathlib.Path(sys.argv[1]) / "tests" / "python"))
from traced import decode
notes = [json.loads(line) for file in pathlib.Path(sys.argv[2]).glob("trace_*") for line in decode(file).splitlines() if '"type":"note"' in line]
for note in notes:
    print(note["code"], note.get("text", ""), note.get("count", ""))
bad = [n for n in notes if n["code"] in ("no-kernel", "no-memory", "switched-off")]
print("the kernel was NOT used" if bad else "no note says that the kernel was not used")
sys.exit(bool(bad))
PY
    "$bin/traincheck-collect" -q --overwrite --python "$python" -o "$work/trace" "$here/programs/seen.py" || wrong=1
}

sanitizer() {
    local program tool kernels=()
    program=$(command -v compute-sanitizer || ls /usr/local/cuda*/bin/compute-sanitizer 2>/dev/null | head -n 1)
    [ -n "$program" ] || { echo "NOT DONE: compute-sanitizer is not installed"; return; }
    # Its releases call it differently; without it torch's own kernels are checked too, which takes hours.
    case $("$program" --help) in
    *--kernel-name*) kernels=(--kernel-name kernel_substring=tc_look) ;;
    *--kernel-regex*) kernels=(--kernel-regex kns=tc_look) ;;
    *) echo "NOT DONE: this compute-sanitizer cannot be told a kernel's name"; return ;;
    esac
    for tool in memcheck racecheck initcheck; do
        echo "-- $tool"
        "$program" --tool "$tool" --error-exitcode 1 "${kernels[@]}" "$python" "$here/kernel_speed.py" --check ||
            wrong=1
    done
    # What a trace asks beyond digests and magnitudes.
    for tool in memcheck racecheck; do
        echo "-- $tool, traced"
        "$program" --tool "$tool" --error-exitcode 1 --target-processes all "${kernels[@]}" \
            "$bin/traincheck-collect" -q --overwrite --python "$python" -o "$work/trace" "$here/programs/exact.py" || wrong=1
    done
}

echo "== device"
if command -v nvidia-smi >/dev/null; then
    nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.mem,mig.mode.current --format=csv,noheader
elif command -v rocm-smi >/dev/null; then
    rocm-smi --showproductname --showdriverversion
else
    echo "neither nvidia-smi nor rocm-smi is here"
fi
"$python" - <<'PY' || exit 2
import os, sys, torch
print(f"torch {torch.__version__}, CUDA {torch.version.cuda}, HIP {torch.version.hip}, Python {sys.version.split()[0]}")
for i in range(torch.cuda.device_count()):
    of = torch.cuda.get_device_properties(i)
    print(f"cuda:{i}: {of.name}, {getattr(of, 'gcnArchName', '') if torch.version.hip else f'sm_{of.major}{of.minor}'}, {of.total_memory >> 20:,} MiB")
if not torch.cuda.is_available() and "BENCH_DEVICE" not in os.environ:
    sys.exit("device.sh: this torch sees no GPU")
PY
"$python" "$here/kernel_speed.py" --libraries || wrong=1
for part in "${parts[@]}"; do
    echo "== $part"
    "$part"
done
[ $wrong = 0 ] && echo "all is well" || echo "something is wrong: see above"
exit $wrong
