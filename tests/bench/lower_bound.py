#!/usr/bin/env python3
"""Lower bounds on the overhead that any memory policy must pay on a trace.

For ops in program order under a budget no policy can pay less than a certain linear program says;
bounds.md tells what the program knows and what makes the bound loose. Overhead is time over the
time of one pass (for the variant `recompute`: compute executed over the compute of one pass).
"""
import argparse
import json
import math
import re
import sys
import time
from fractions import Fraction

from bounds.command import status
from bounds.read import read

UNITS = {"%": 0, "": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
         "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
NO_SCIPY = ("lower_bound.py: needs SciPy (%s): install Debian's python3-scipy and run this with "
            "/usr/bin/python3")


def parse_budget(text, peak):
    """Bytes of "40%" (of the base peak), "6GiB", "1000"."""
    match = re.fullmatch(r"(\d{1,18}(?:\.\d{1,9})?)(%|[kKMGT]?i?B)?", text)
    if match and (match[2] or "") in UNITS:
        value = Fraction(match[1])
        value = value * peak / 100 if match[2] == "%" else value * UNITS[match[2] or ""]
        if 1 <= value < 1 << 62:
            return int(value)
    raise ValueError(f"\"{text}\" is not a budget: say 40%, 6GiB, 6GB or bytes")


def parse_budgets(text, peak):
    """(as given, bytes) of each of a comma-separated list; FROM%..TO%:STEP% is a range."""
    found = []
    for part in text.split(","):
        part = part.strip()
        match = re.fullmatch(r"([\d.]+)%\.\.([\d.]+)%:([\d.]+)%", part)
        if not match:
            found.append((part, parse_budget(part, peak)))
            continue
        first, last, step = (Fraction(number) for number in match.groups())
        if min(first, last, step) <= 0 or abs(first - last) / step > 1000:
            raise ValueError(f"\"{part}\" has no step, no end or too many budgets")
        for i in range(int(abs(first - last) / step) + 1):
            percent = first - i * step if first > last else first + i * step
            name = f"{percent}%" if percent.denominator == 1 else f"{float(percent):g}%"
            found.append((name, parse_budget(f"{float(percent):.9f}%", peak)))
    return found


def arguments(argv):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("trace", metavar="TRACE")
    parser.add_argument("--format", choices=("cebus", "dtr"), help="(the first line tells)")
    parser.add_argument("--budget", required=True, metavar="LIST",
                        help="90%%,70%%,50%% of the base peak, ranges 90%%..20%%:10%%, or bytes")
    parser.add_argument("--variant", choices=("recompute", "hybrid", "any-order"),
                        default="recompute", help="what the policy may do; see bounds.md")
    parser.add_argument("--link-gbps", type=float, default=12.0, metavar="N",
                        help="10^9 bytes a second each way, for hybrid and any-order (12); "
                        "any-order with 0: no swapping")
    parser.add_argument("--seconds", type=float, default=30.0, metavar="N",
                        help="limit for each budget (30)")
    parser.add_argument("--json", metavar="FILE", help="write what `cebus sweep --bounds` reads")
    parser.add_argument("--verbose", action="store_true", help="every round of the solver")
    options = parser.parse_args(argv)
    if not 0 <= options.link_gbps < math.inf or (options.link_gbps == 0
                                                 and options.variant == "hybrid"):
        parser.error("--link-gbps is not a rate")
    if not options.seconds > 0:
        parser.error("--seconds is not a time")
    return options


def bounder(program, options):
    """(least budget that may do, function of budget and seconds) of the variant."""
    # Only now: reading a trace needs no SciPy, and its absence is no stack trace.
    from bounds.anyorder import AnyOrder
    from bounds.rounds import Rounds
    rate = options.link_gbps if options.variant != "recompute" else 0.0  # bytes a nanosecond
    log = (lambda text: print(text, file=sys.stderr)) if options.verbose else None
    bounds = (AnyOrder if options.variant == "any-order" else Rounds)(program, rate, log)
    return bounds.least_budget(), bounds.run


def points(least, run, budgets, seconds):
    """One object after another with its time, the largest budget first: what is proven for it holds
    for a smaller one, too."""
    proven = 0.0
    for name, budget in sorted(budgets, key=lambda pair: -pair[1]):
        start = time.monotonic()
        point = {"budget": name, "budget_bytes": budget, "overhead": None, "status": "infeasible"}
        if budget >= least:
            bound = run(budget, seconds)
            proven = max(proven, bound.value)
            point["status"] = bound.status
            if bound.status != "infeasible":
                point["overhead"] = math.floor((1.0 + proven) * 1e6) / 1e6
        yield point, time.monotonic() - start


def show_head(program, options, floor):
    peak = program.base_peak
    link = options.link_gbps if options.variant != "recompute" else 0
    print(f"{options.trace}: {len(program.ops)} ops, base peak {peak} bytes, "
          f"floor {floor} bytes ({floor / peak:.3f})")
    print(f"variant {options.variant}, "
          + (f"link {link:g} GB/s each way" if link else "no swapping") + "\n")
    print("| budget | bytes | overhead at least | points | status | s |")
    print("|---:|---:|---:|---:|---|---:|", flush=True)


def show(point, seconds):
    overhead, figures = point["overhead"], "- | -"
    if overhead is not None:
        figures = f"{math.floor(overhead * 1e4) / 1e4:.4f} | {100 * (overhead - 1):.2f}"
    print(f"| {point['budget']} | {point['budget_bytes']} | {figures} | {point['status']} "
          f"| {seconds:.1f} |", flush=True)


def write_json(program, options, floor, found):
    link = int(options.link_gbps * 1e9) if options.variant != "recompute" else 0
    with open(options.json, "w", encoding="utf-8") as file:
        json.dump({"cebus_bounds": 1, "trace": options.trace, "base_peak": program.base_peak,
                   "floor": floor, "variant": options.variant, "link_bytes_per_s": link or None,
                   "points": found}, file, indent=1)
        file.write("\n")


def compute(options):
    program = read(options.trace, options.format)
    budgets = parse_budgets(options.budget, program.base_peak)
    least, run = bounder(program, options)
    floor = program.floor(options.variant != "recompute" and options.link_gbps > 0)
    show_head(program, options, floor)
    found = {}
    for point, seconds in points(least, run, budgets, options.seconds):
        show(point, seconds)
        found[point["budget"]] = point
    if options.json:
        write_json(program, options, floor, [found[name] for name, _ in budgets])


def main(argv):
    options = arguments(argv)
    try:
        return status("lower_bound.py", compute, options)
    except ImportError as error:
        print(NO_SCIPY % error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
