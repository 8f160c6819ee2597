#!/bin/sh
# Installs into a scratch folder, then builds and runs a program against it as any user would.
# usage: check_install.sh BUILD_FOLDER EXAMPLE.c CC...
set -eu
build=$1
example=$2
shift 2

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
meson install -C "$build" --no-rebuild --quiet --destdir "$scratch"

found=$(find "$scratch" -name cebus.pc)
[ -n "$found" ] || { echo 'no cebus.pc was installed' && exit 1; }
export PKG_CONFIG_PATH="${found%/*}" PKG_CONFIG_SYSROOT_DIR="$scratch"
# shellcheck disable=SC2046  # a list of words
"$@" -std=c11 "$example" -o "$scratch/example" $(pkg-config --cflags --libs cebus)
LD_LIBRARY_PATH=$(pkg-config --variable=libdir cebus)
case $LD_LIBRARY_PATH in
"$scratch"/*) ;;
*) LD_LIBRARY_PATH=$scratch$LD_LIBRARY_PATH ;;
esac
export LD_LIBRARY_PATH
"$scratch/example"
