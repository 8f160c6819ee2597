#!/bin/sh
# bundle.sh: what a machine with a GPU and no packages needs to run the checks of run.sh.
#
# usage: bundle.sh BUILD OUT [--light]    BUILD: a build folder with the CUDA plug-in
#
# OUT/bin: programs; OUT/lib: the plug-in, and every shared library they load but those of the C
# library and the driver; cuDNN's parts, which it loads itself. A light bundle leaves NVIDIA's
# libraries out, nearly all of it, for machines that have cuBLASLt and cuDNN of the same versions;
# it is also packed as OUT.tar.gz.
set -eu
build=$1
out=$2
light=${3-}
here=$(cd "$(dirname "$0")" && pwd)
[ -f "$build/libcebus_cuda.so" ] || {
    printf 'bundle.sh: %s has no CUDA plug-in: it needs nvcc, cuBLASLt and cuDNN\n' "$build" >&2
    exit 1
}
rm -rf "$out" "$out.tar.gz"
mkdir -p "$out/bin" "$out/lib"
cp "$here/run.sh" "$here/torch_step.py" "$out/"
cp "$build/libcebus_cuda.so" "$out/lib/"

# needed FILE...: absolute names of what they load.
needed() {
    ldd "$@" 2>/dev/null | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p' | sort -u
}

# missing FILE...: what they load that is nowhere.
missing() {
    ldd "$@" 2>/dev/null | sed -n 's/^[[:space:]]*\([^ ]*\) => not found.*/\1/p' | sort -u
}

# keep FILE: into lib under the name it is loaded by.
keep() {
    name=${1##*/}
    case $name in
    ld-linux* | libc.so.* | libm.so.* | libdl.so.* | libpthread.so.* | librt.so.* | libcuda.so.*)
        return 0
        ;;
    libcublas*.so.* | libcudnn*.so.* | libnvrtc*.so.*)
        [ "$light" != --light ] || return 0
        ;;
    esac
    [ -e "$out/lib/$name" ] || cp -L "$1" "$out/lib/$name"
}

# program FILE NAME: what it loads is asked where it was built, for it finds libcebus beside itself.
program() {
    cp "$build/$1" "$out/bin/$2"
    for file in $(needed "$build/$1"); do
        keep "$file"
    done
}

program tests/conformance_main_test conformance
program tests/property_replay_equal_test replay_equal
program tests/gpu/gpu_step gpu_step
program tests/gpu/gpu_link gpu_link
program bindings/cli/cebus cebus
for file in $(needed "$build/libcebus_cuda.so"); do
    keep "$file"
done
dnn=$(needed "$out/lib/libcebus_cuda.so" | grep '/libcudnn\.so' || true)
for part in "${dnn%/*}"/libcudnn_*.so.9 "${dnn%/*}"/libnvrtc.so.1[0-9] \
    "${dnn%/*}"/libnvrtc-builtins.so.1[0-9]*; do
    [ ! -f "$part" ] || keep "$part"
done
for file in $(needed "$out"/lib/*); do
    keep "$file"
done
lacking=$(missing "$build/libcebus_cuda.so" "$out"/lib/*)
[ -z "$lacking" ] || printf 'bundle.sh: found nowhere: %s\n' "$lacking" >&2
# What debuggers read is most of the programs.
strip --strip-debug "$out"/bin/* "$out"/lib/libcebus* 2>/dev/null || true
du -sh "$out" | sed 's/^/bundle.sh: /' >&2
if [ "$light" = --light ]; then
    tar -C "$(dirname "$out")" -czf "$out.tar.gz" "$(basename "$out")"
    du -h "$out.tar.gz" | sed 's/^/bundle.sh: /' >&2
fi
