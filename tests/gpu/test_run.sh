#!/bin/sh
# test_run.sh: run.sh where the driver sees no device says so, writes that down and succeeds; and,
# on programs that only speak as ours do, what it makes of failures, of a GPU that cannot be used,
# and of too little time.
#
# usage: test_run.sh BUILD CEBUS
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cebus=$(realpath "$2")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/bin" "$folder/tools"
ln -s "$cebus" "$folder/bin/cebus"
cp "$here/run.sh" "$folder/"

# run WANTED_STATUS [SECONDS]
run() {
    status=0
    CEBUS_PLUGIN_PATH="$build" CEBUS_GPU_SECONDS="${2-450}" PATH="$folder/tools:$PATH" \
        "$folder/run.sh" cuda:0 "$folder/result.json" 2>"$folder/said" || status=$?
    [ "$status" -eq "$1" ] || { cat "$folder/said" "$folder/result.log"; exit 1; }
    python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$folder/result.json"
}

# holds TEXT [FILE]
holds() {
    file=$folder/${2-result.json}
    grep -qF -- "$1" "$file" || { echo "no $1 in:"; cat "$file"; exit 1; }
}

program() {
    printf '#!/bin/sh\n%s\n' "$2" >"$folder/$1"
    chmod +x "$folder/$1"
}

build=$1
program tools/nvidia-smi 'exit 9'
CUDA_VISIBLE_DEVICES=''
export CUDA_VISIBLE_DEVICES
run 0
holds 'no GPU is at hand: everything is skipped' said
holds '"device": null, "skipped": "'
unset CUDA_VISIBLE_DEVICES

rm "$folder/bin/cebus"
program tools/nvidia-smi 'echo Model 1'
program bin/cebus 'echo "  CUDA       -          libcudnn.so.9: no such file"'
run 1
holds 'there is a GPU (Model 1), and it cannot be used: libcudnn.so.9' said

program bin/cebus 'echo "  CUDA       13.0       the devices cuda:N"'
program tools/compute-sanitizer 'shift 4; exec "$@"'
program bin/conformance 'echo "ok 1 - a"; echo "ok 2 - b # SKIP"
printf "not ok 3 - \"\\033[1m\\\\\n"; exit 1'
program bin/replay_equal 'echo "ok 1 - a"'
program bin/gpu_link 'echo "{\"link\": 1}"'
program tools/python3 '[ "$1" = -c ] || echo "{\"torch\": \"$2\"}"'
program bin/gpu_step 'echo "{\"model\": \"$2\"}"; printf "{\"cut"; kill -SEGV $$'
run 1
holds '"conformance": {"passed": 1, "failed": 1, "skipped": 1'
holds '{"model": "gpt2-small"}, {"of": "gpt2-small", "exit": 139}'
holds '{"torch": "gpt2-small"}, {"of": "gpt2-small in PyTorch", "exit": 0}'
holds '{"link": 1}, {"of": "link", "exit": 0}, {"torch": "link"}'
holds '"program": 3, "run": {"passed": 1'
holds '"family": "softmax", "run": {"passed": 1, "failed": 1'
holds '"failed": 14,'
holds '"left_out": 0,'

program bin/conformance 'echo "ok 1 - a"; sleep 9'
program bin/gpu_step 'exit 0'
run 1 2
holds '"exit": 124'
holds '"left_out": 20,'
