#!/bin/sh
# run.sh: checks and measures cebus on the GPU of this machine, in under 8 minutes.
#
# usage: ./run.sh [DEVICE] [RESULT.json]        DEVICE: cuda:0
#
# Lies in a bundle that ./dev gpu made: bin/ and lib/ beside it. Needs an NVIDIA driver, and where
# the bundle is a light one cuBLASLt and cuDNN; uses compute-sanitizer of a CUDA toolkit and PyTorch
# where they are. Nothing is installed. What the time does not suffice for is listed as skipped:
# CEBUS_GPU_SECONDS, 475; CEBUS_GPU_TORCH is how PyTorch runs its steps in f32, "none checkpoint".
set -u
cd "$(dirname "$0")" || exit 1
device=${1-cuda:0}
result=${2-result.json}
log=${result%.json}.log
here=$PWD
export CEBUS_PLUGIN_PATH="${CEBUS_PLUGIN_PATH:-$here/lib}"
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-4}"
started=$(date +%s)
deadline=$((started + ${CEBUS_GPU_SECONDS:-475}))
bad=0
left_out=0
: >"$log"

say() {
    printf 'run.sh: %s\n' "$*" >&2
}

# A text as a JSON string.
quoted() {
    printf '"%s"' "$(printf '%s' "$1" | tr '[:cntrl:]' ' ' | sed 's/\\/\\\\/g; s/"/\\"/g')"
}

# Where a light bundle finds what NVIDIA's packages brought: a toolkit's folder, or Python's.
nvidia_folders() {
    [ ! -f "$here/lib/libcudnn.so.9" ] || return 0
    for folder in /usr/local/cuda/lib64 /usr/local/cuda/targets/*/lib; do
        [ ! -d "$folder" ] || printf ':%s' "$folder"
    done
    python3 -c 'import glob, nvidia
for root in nvidia.__path__:
    print(*[":" + folder for folder in sorted(glob.glob(root + "/*/lib"))], sep="", end="")
' 2>/dev/null
}

found=$(nvidia_folders)
export LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}$found"

# within SECONDS COMMAND...: with what is left of the time at the most; output to out.tmp. What ends
# otherwise than with 0 counts as bad, what there is no time for as left out: 125.
within() {
    seconds=$1
    shift
    left=$((deadline - $(date +%s)))
    : >out.tmp
    : >err.tmp
    took=0
    status=125
    if [ "$left" -lt 1 ]; then
        left_out=$((left_out + 1))
        printf '== %s: no time left\n' "$*" >>"$log"
        return "$status"
    fi
    [ "$seconds" -lt "$left" ] || seconds=$left
    begun=$(date +%s)
    timeout -k 5 "$seconds" "$@" >out.tmp 2>err.tmp
    status=$?
    took=$(($(date +%s) - begun))
    { printf '== %s (%s s, exit %s)\n' "$*" "$took" "$status"; cat out.tmp err.tmp; } >>"$log"
    [ "$status" -eq 0 ] || bad=$((bad + 1))
    return "$status"
}

# Counts of a TAP run, from out.tmp.
tap() {
    if [ "$status" -eq 125 ]; then
        printf '{"skipped": "no time left"}'
        return
    fi
    passed=$(grep '^ok ' out.tmp | grep -vc '# SKIP')
    skipped=$(grep '^ok ' out.tmp | grep -c '# SKIP')
    failed=$(grep -c '^not ok ' out.tmp)
    names=$(grep '^not ok ' out.tmp | head -n 20)
    printf '{"passed": %s, "failed": %s, "skipped": %s, ' "$passed" "$failed" "$skipped"
    printf '"seconds": %s, "exit": %s, "failures": %s}' "$took" "$status" "$(quoted "$names")"
}

gpu=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1)
driver=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null | head -n 1)
[ -n "${CUDA_VISIBLE_DEVICES-all}" ] || gpu=
within 60 bin/cebus info
cuda=$(sed -n 's/^ *CUDA  *//p' out.tmp | sed 's/^-  */-/')
case $cuda in
'')
    say 'bin/cebus does not run:'
    cat err.tmp >&2
    exit 1
    ;;
-*)
    why=${cuda#-}
    printf '{"date": %s, "device": null, "skipped": %s}\n' \
        "$(quoted "$(date -u +%Y-%m-%dT%H:%M:%SZ)")" "$(quoted "$why")" >"$result"
    rm -f out.tmp err.tmp
    if [ -n "$gpu" ]; then
        say "there is a GPU ($gpu), and it cannot be used: $why"
        exit 1
    fi
    say "no GPU is at hand: everything is skipped ($why)"
    exit 0
    ;;
esac

# begin NAME SECONDS COMMAND...: like `within`, beside others, where no time is taken. end NAME
# waits for it, and leaves what `within` would.
begin() {
    name=$1
    limit=$2
    shift 2
    left=$((deadline - $(date +%s)))
    [ "$limit" -lt "$left" ] || limit=$left
    (
        begun=$(date +%s)
        ended=125
        : >"$name.out.tmp"
        : >"$name.err.tmp"
        if [ "$limit" -ge 1 ]; then
            timeout -k 5 "$limit" "$@" >"$name.out.tmp" 2>"$name.err.tmp"
            ended=$?
        fi
        echo "$ended $(($(date +%s) - begun)) $*" >"$name.ended.tmp"
        mv "$name.ended.tmp" "$name.end.tmp"
    ) &
}

end() {
    while [ ! -f "$1.end.tmp" ]; do
        sleep 0.1
    done
    read -r status took command <"$1.end.tmp"
    mv "$1.out.tmp" out.tmp
    {
        printf '== %s (%s s, exit %s)\n' "$command" "$took" "$status"
        cat out.tmp "$1.err.tmp"
    } >>"$log"
    rm -f "$1.err.tmp" "$1.end.tmp"
    case $status in
    0) ;;
    125) left_out=$((left_out + 1)) ;;
    *) bad=$((bad + 1)) ;;
    esac
}

# Each model: its peak, then 8 budgets or more down to what is too little, bit for bit.
replays="gpt:cebus+swap cnn:cebus+swap lstm:cebus+swap mlp:cebus+swap gpt-bf16:cebus+swap
cnn-f16:cebus+swap gpt:coop+swap cnn:coop+swap"
programs='1 2 3'
# Families under compute-sanitizer.
memory_checked='unary reduce index softmax'
sanitizer=
for tool in compute-sanitizer /usr/local/cuda/bin/compute-sanitizer; do
    ! command -v "$tool" >/dev/null || sanitizer=${sanitizer:-$tool}
done

say "conformance on $device, replays bit for bit${sanitizer:+, memory checks}"
rm -f ./*.end.tmp
begin conformance 200 bin/conformance --device "$device"
for replay in $replays; do
    begin "$replay" 200 bin/replay_equal --device "$device" --model "${replay%:*}" \
        --policy "${replay#*:}"
done
for seed in $programs; do
    begin "program$seed" 200 bin/replay_equal --device "$device" --model program --seed "$seed"
done
if [ -n "$sanitizer" ]; then
    for family in $memory_checked; do
        begin "memory$family" 200 "$sanitizer" --tool memcheck --error-exitcode 9 bin/conformance \
            --device "$device" "$family"
    done
fi
end conformance
conformance=$(tap)
property=
for replay in $replays; do
    end "$replay"
    run="{\"model\": \"${replay%:*}\", \"policy\": \"${replay#*:}\", \"run\": $(tap)}"
    property="$property${property:+, }$run"
done
for seed in $programs; do
    end "program$seed"
    property="$property, {\"program\": $seed, \"run\": $(tap)}"
done
memory=
for family in ${sanitizer:+$memory_checked}; do
    end "memory$family"
    memory="$memory${memory:+, }{\"family\": \"$family\", \"run\": $(tap)}"
done
[ -n "$sanitizer" ] || memory='{"skipped": "compute-sanitizer is not there"}'

# lines WHAT: the objects that a program printed, and how it ended, as JSON.
lines() {
    found=$(grep '^{.*}$' out.tmp | tr '\n' ',' | sed 's/,$//')
    printf '%s%s{"of": "%s", "exit": %s}' "$found" "${found:+, }" "$1" "$status"
}

has_torch=no
if python3 -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' 2>/dev/null; then
    has_torch=yes
fi
bench=
for preset in gpt2-small speed-resnet50 speed-bert-base; do
    say "steps of $preset"
    within 90 bin/gpu_step "$device" "$preset" 70 50 30
    bench="$bench${bench:+, }$(lines "$preset")"
    [ "$has_torch" = yes ] || continue
    # shellcheck disable=SC2086 # words
    within 60 python3 torch_step.py "$preset" ${CEBUS_GPU_TORCH-none checkpoint}
    bench="$bench, $(lines "$preset in PyTorch")"
done
for preset in speed-resnet50-bf16 gpt2-small-bf16; do
    say "steps of $preset"
    within 60 bin/gpu_step "$device" "$preset" 50
    bench="$bench, $(lines "$preset")"
    [ "$has_torch" = yes ] || continue
    within 30 python3 torch_step.py "$preset" none
    bench="$bench, $(lines "$preset in PyTorch")"
done
say 'the host'
within 30 bin/gpu_step "$device" speed-host
bench="$bench, $(lines speed-host)"
if [ "$has_torch" = yes ]; then
    within 30 python3 torch_step.py speed-host none
    bench="$bench, $(lines 'speed-host in PyTorch')"
fi
say 'copies'
within 30 bin/gpu_link "$device"
bench="$bench, $(lines link)"
if [ "$has_torch" = yes ]; then
    within 30 python3 torch_step.py link
    bench="$bench, $(lines 'link in PyTorch')"
fi
for preset in speed-resnet50 speed-bert-base gpt2-small; do
    say "steps of $preset in tf32"
    within 30 bin/gpu_step "$device,tf32=on" "$preset"
    bench="$bench, $(lines "$preset in tf32")"
    [ "$has_torch" = yes ] || continue
    within 30 python3 torch_step.py --tf32 "$preset" none
    bench="$bench, $(lines "$preset in tf32 in PyTorch")"
done

{
    printf '{"date": %s,\n' "$(quoted "$(date -u +%Y-%m-%dT%H:%M:%SZ)")"
    printf ' "device": %s,\n "driver": %s,\n "runs_on": %s,\n' \
        "$(quoted "$gpu")" "$(quoted "$driver")" "$(quoted "$cuda")"
    printf ' "conformance": %s,\n "property": [%s],\n' "$conformance" "$property"
    printf ' "memory": [%s],\n "bench": [%s],\n' "$memory" "$bench"
    printf ' "failed": %s,\n "left_out": %s,\n' "$bad" "$left_out"
    printf ' "seconds": %s}\n' "$(($(date +%s) - started))"
} >"$result"
rm -f out.tmp err.tmp
say "wrote $result ($bad failed, $left_out left out for want of time)"
[ "$bad" -eq 0 ]
