#!/usr/bin/env python3
"""Runs our benchmarks and a peer's on this machine, one after the other, and prints each pair of times and their ratio.

    benches/ratio.py --ours target/release/tfvk-bench --peer "python3 ../shared/bench/torch_peer.py"

Both commands print JSON lines, `{"name": ..., "ms": ...}`; what bears the same name is the same work. The ratio is the peer's time
through ours: above 1, ours is faster. Names that only one of them knows are listed at the end, so that nothing drops out unseen.
The exit code is not 0 when a command fails, when a benchmark reports an error, or when no name is common to both.
"""
import argparse
import json
import shlex
import subprocess
import sys


def read(lines):
    """(name -> figures, errors, heading) of JSON lines; anything else on a line is an error."""
    figures, errors, heading = {}, [], {}
    for line in filter(str.strip, lines):
        try:
            d = json.loads(line)
        except ValueError:
            errors.append(f"not a JSON line: {line.strip()[:200]}")
            continue
        if "ms" in d and "name" in d:
            figures[d["name"]] = d
        elif "device" in d:
            heading = d
        else:
            errors.append(json.dumps(d))
    return figures, errors, heading


def ratios(ours, peer):
    """Rows (name, our ms, peer's ms, ratio) of the names in both, in our order."""
    return [(n, f["ms"], peer[n]["ms"], peer[n]["ms"] / f["ms"]) for n, f in ours.items() if n in peer and f["ms"] > 0]


def execute(command):
    """Runs a command; its figures, errors and heading. A command that fails is an error, what it printed counts all the same."""
    done = subprocess.run(shlex.split(command), stdout=subprocess.PIPE, text=True)
    figures, errors, heading = read(done.stdout.splitlines())
    if done.returncode:
        errors.append(f"{command}: exit code {done.returncode}")
    return figures, errors, heading


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", default="tfvk bench --json", help="command that runs our benchmarks")
    parser.add_argument("--peer", default="python3 ../shared/bench/torch_peer.py", help="command that runs the peer's")
    parser.add_argument("--json", action="store_true", help="JSON lines in place of a table")
    arguments = parser.parse_args(argv)
    ours, our_errors, our_heading = execute(arguments.ours)
    peer, peer_errors, peer_heading = execute(arguments.peer)
    rows = ratios(ours, peer)
    for heading in (our_heading, peer_heading):
        print(json.dumps(heading) if arguments.json else "  ".join(map(str, heading.values())))
    if not arguments.json:
        print(f"{'benchmark':36}{'ours, ms':>12}{'peer, ms':>12}{'peer / ours':>13}")
    for name, a, b, ratio in rows:
        line = {"name": name, "ours_ms": a, "peer_ms": b, "ratio": round(ratio, 3)}
        print(json.dumps(line) if arguments.json else f"{name:36}{a:12.4f}{b:12.4f}{ratio:13.2f}")
    for whose, names in (("ours", ours.keys() - peer), ("the peer's", peer.keys() - ours)):
        print(f"only {whose}: {', '.join(sorted(names)) or 'nothing'}", file=sys.stderr)
    for error in our_errors + peer_errors:
        print(error, file=sys.stderr)
    return 1 if our_errors or peer_errors or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
