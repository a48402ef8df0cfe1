# SPDX-License-Identifier: Apache-2.0
# Traces for cases: `. "$CASE/../../trace.sh"`, then `trace 4 >folder/trace_1.jsonl`.

process='{"type":"process","schema":1,"pid":1,"role":"main","packages":{"torch":"2"}}'
end='{"type":"end","t":9000,"events":1,"dropped":0,"exit":0}'

# one_step NUMBER DIGEST: a window of backward and step, in which parameter 9 becomes DIGEST.
one_step() {
    cat <<LINES
{"type":"call","id":$((10 * $1 + 1)),"fn":"backward","t":$((10 * $1 + 1)),"step":$1,"stage":"training","by":"user","at":"train.py:7"}
{"type":"return","id":$((10 * $1 + 1)),"t":$((10 * $1 + 2))}
{"type":"call","id":$((10 * $1 + 2)),"fn":"step","t":$((10 * $1 + 3)),"step":$1,"stage":"training","by":"user","at":"train.py:8","params":[9]}
{"type":"var","var":9,"t":$((10 * $1 + 4)),"cause":$((10 * $1 + 2)),"attrs":{"data":"000000000000000$2"}}
{"type":"return","id":$((10 * $1 + 2)),"t":$((10 * $1 + 5))}
{"type":"step","step":$1,"t":$((10 * $1 + 6)),"stage":"training","why":"data"}
LINES
}

apis() {
    cat <<LINES
{"type":"api","fn":"backward","role":"backward"}
{"type":"api","fn":"step","role":"step"}
{"type":"var","var":9,"t":0,"name":"w","kind":"Parameter","attrs":{"data":"0000000000000000","grad":"non_zero","requires_grad":true}}
LINES
}

# steps N [DIGEST]: N windows; the parameter changes in each, or is DIGEST in all.
steps() {
    i=0
    while [ $i -lt $1 ]; do
        one_step $i ${2:-$((i + 1))}
        i=$((i + 1))
    done
}

# trace N [DIGEST]
trace() {
    echo "$process"
    apis
    steps "$@"
    echo "$end"
}

# shipped_sets: folder sets/, as one that ships, with a set for torch, one for several processes, one for another package.
shipped_sets() {
    mkdir sets good
    trace 4 >good/trace_1.jsonl
    traincheck-infer -q good --enable-relation EventContain/some -o learned.jsonl
    shipped_set core '{"packages":["torch"]}' step
    shipped_set ranks '{"packages":["torch"],"processes":"many"}' all_reduce
    shipped_set library '{"packages":["peft","accelerate"]}' accelerate.Accelerator.backward
    export TRAINCHECK_INVARIANTS=sets
}

# shipped_set NAME FOR CALL: what was learned, said of another call.
shipped_set() {
    echo '{"traincheck":"invariants","schema":1,"for":'"$2"',"learned_with":{"torch":"2.13.0"}}' >sets/$1.jsonl
    sed -n '/"id"/s/"call":"step"/"call":"'$3'"/p' learned.jsonl >>sets/$1.jsonl
}
