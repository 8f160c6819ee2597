#!/bin/sh
# Each public header compiles alone, as strict C11 and as C++, without a warning. Speaks TAP.
# usage: check_headers.sh ROOT CC...
set -u
root=$1
shift

count=0
failed=0
result=$(mktemp)
trap 'rm -f "$result"' EXIT

# compiles LANGUAGE STANDARD SOURCE COMPILER...
compiles() {
    language=$1 standard=$2 source=$3
    shift 3
    printf '%s\n' "$source" | "$@" -x "$language" -std="$standard" \
        -Wall -Wextra -Wpedantic -Werror -fsyntax-only \
        -I"$root/layout/include" -I"$root/evict/include" \
        -I"$root/eager/include" - >"$result" 2>&1
}

# check LANGUAGE STANDARD HEADER COMPILER...
check() {
    count=$((count + 1))
    language=$1 standard=$2 header=$3
    shift 3
    if ! compiles "$language" "$standard" 'int cebus_probe(void);' "$@"; then
        echo "ok $count - $header as $standard # SKIP the compiler does not know $standard"
    elif compiles "$language" "$standard" "#include <cebus/$header>" "$@"; then
        echo "ok $count - $header as $standard"
    else
        echo "not ok $count - $header as $standard"
        sed 's/^/# /' "$result"
        failed=1
    fi
}

headers=$(cd "$root" && find layout/include evict/include eager/include -name '*.h' | sort)
for header in $headers; do
    header=${header#*/include/cebus/}
    check c c11 "$header" "$@"
    check c++ c++11 "$header" "$@"
done
echo "1..$count"
exit $failed
