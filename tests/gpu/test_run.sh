#!/bin/sh
# test_run.sh: run.sh where the driver sees no device says so, writes that down and succeeds.
#
# usage: test_run.sh BUILD CEBUS
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cebus=$(realpath "$2")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/bin"
ln -s "$cebus" "$folder/bin/cebus"
cp "$here/run.sh" "$folder/"
CUDA_VISIBLE_DEVICES='' CEBUS_PLUGIN_PATH="$1" "$folder/run.sh" cuda:0 "$folder/result.json" \
    2>"$folder/said"
grep -q 'no GPU is at hand: everything is skipped' "$folder/said"
grep -q '"device": null, "skipped": ".*no' "$folder/result.json"
