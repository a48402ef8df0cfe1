# SPDX-License-Identifier: Apache-2.0
# Traces of small training scripts for cases of --against: `. "$CASE/../../compare.sh"`, then
# `run FOLDER STEPS <script.txt`. A line of script.txt is a line of the script; those in a step are
# indented. Behind `#` stand what the line calls, `FN ROLE [VALUE]`, several with `;` between them.
# VALUE is the argument `x`; with `=` before it what the call returns; with `@` the digests of the
# rows of the tensor `x`; with `/` the class of the receiver, with `^` the number that it shows; `{`
# leaves the call open up to `}`.

one_call() { # STEP STAGE LINE FN ROLE VALUE
    id=$(cat "$ids")
    echo $((id + 1)) >"$ids"
    args= result=null self=
    case $6 in
    =*) result='{"tensor":"Tensor","id":1,"shape":[],"dtype":"float32","value":'${6#=}'}' ;;
    @*) args=',"args":{"x":{"tensor":"Tensor","id":2,"shape":[2],"dtype":"float32","rows":"'${6#@}'"}}' ;;
    ^*) self=',"self":{"tensor":"Tensor","id":1,"shape":[],"dtype":"float32","value":'${6#^}'}' ;;
    /*) self=',"self":{"object":"'${6#/}'","id":3,"attrs":{}}' ;;
    '{') ;;
    ?*) args=',"args":{"x":'$6'}' ;;
    esac
    echo '{"type":"call","id":'$id',"fn":"'$4'","t":'$((2 * id))',"step":'$1',"stage":"'$2'","by":"user","at":"'$at':'$3'"'$self$args'}'
    [ "$5" = step ] && echo '{"type":"var","var":9,"t":'$((2 * id))',"cause":'$id',"attrs":{"data":"'$(weights "$1")'"'$(sketch "$1")'}}'
    if [ "$6" = '{' ]; then
        echo $id >"$ids.open"
    else
        echo '{"type":"return","id":'$id',"t":'$((2 * id + 1))',"value":'$result'}'
    fi
}

calls_of_line() { # STEP STAGE LINE CALLS
    echo "$4" | tr ';' '\n' | while read -r fn role value; do
        case $fn in
        '') ;;
        '}') echo '{"type":"return","id":'$(cat "$ids.open")',"t":'$((2 * $(cat "$ids")))',"value":null}' ;;
        *) one_call "$1" "$2" "$3" "$fn" "$role" "$value" ;;
        esac
    done
}

# What the weights are after a step; a case may have another one.
weights() {
    printf '%016d' "$1"
}

# Their sketch, as `,"sketch":[...]`.
sketch() {
    :
}

lines_of() { # STEP STAGE: the calls before the first step, or in a step
    number=0
    while IFS= read -r line; do
        number=$((number + 1))
        case $2$line in
        init\ * | training[!\ ]*) continue ;;
        esac
        case $line in
        *'# '*) calls_of_line "$1" "$2" $number "${line#*# }" ;;
        esac
    done <"$script"
}

apis_of_script() {
    sed -n 's/.*# //p' "$script" | tr ';' '\n' | while read -r fn role value; do
        [ -n "$role" ] && echo '{"type":"api","fn":"'$fn'","role":"'$role'"}'
    done | sort -u
}

source_of_script() {
    text=$(sed 's/ *# .*//; s/\\/\\\\/g; s/"/\\"/g' "$script" | awk '{ printf "%s\\n", $0 }')
    digest=$(printf '%s' "$text" | cksum | tr ' ' 0 | head -c 16)
    printf '{"type":"source","at":"%s","digest":"%s","text":"%s"}\n' "$at" "$digest" "$text"
}

run() { # FOLDER STEPS
    mkdir -p "$1"
    script=$1/script ids=$1/ids at=${at:-train.py}
    cat >"$script"
    echo 0 >"$ids"
    {
        echo '{"type":"process","schema":6,"pid":1,"role":"main","packages":{"torch":"'${torch:-2.13}'"},"argv":["train.py"'$argv'],"content":"batches","digest":"nh64","mode":"full","operators":true,"rank":'${rank:-0}',"world_size":'${world:-1}'}'
        [ -n "$no_source" ] || source_of_script
        apis_of_script
        lines_of 0 init
        echo '{"type":"var","var":9,"t":0,"name":"w","kind":"Parameter","attrs":{"data":"'${first:-f000000000000000}'"}}'
        echo '{"type":"step","step":0,"t":0,"stage":"init","why":"data"}'
        step=0
        while [ $step -lt $2 ]; do
            lines_of $step training
            echo '{"type":"step","step":'$step',"t":'$step',"stage":"training","why":"data"}'
            step=$((step + 1))
        done
        echo '{"type":"end","t":99999,"events":1,"dropped":0,"exit":0}'
    } >"$1/trace_${rank:-1}.jsonl"
    rm -f "$script" "$ids" "$ids.open"
}
