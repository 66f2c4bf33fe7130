"""Runs some op cases at once, for use while writing a kernel:

  TF_PLUGGABLE_DEVICE_LIBRARY_PATH=target/debug/libtensorflow_vulkan.so python tests/ops/run.py --only 'unary/(Exp|Log)/'

Prints each failing variant with its worst element; exits 1 if there is one.
"""
import argparse
import sys
import time

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--only", default="", help="regular expression over family/Op[tag]/dtype")
parser.add_argument("--list", action="store_true", help="print the ids and stop")
parser.add_argument("--all", action="store_true", help="print the passing variants too")
parser.add_argument("--most", type=int, default=6, help="failing variants printed for one case (default 6)")
a = parser.parse_args()

import harness  # after the arguments: TensorFlow takes seconds to load

chosen = list(harness.items(a.only))
if a.list:
    print("\n".join(i.id for i in chosen))
    sys.exit()
if not harness.tf.config.list_physical_devices(harness.tf.DeviceSpec.from_string(harness.DEVICE).device_type):
    sys.exit(f"TensorFlow has no device {harness.DEVICE}: is the plug-in loaded, is there an adapter (TFVK_ALLOW_SOFTWARE=1)?")
known = harness.Known()
start, variants, failed, expected = time.time(), 0, 0, 0
for item in chosen:
    shown = 0
    for label, problem in harness.check(item):
        variants += 1
        is_known = known.covers(f"{item.id}/{label}")
        expected += bool(problem) and is_known
        if bool(problem) != is_known:
            failed += 1
            shown += 1
            if shown <= a.most:
                print(f"FAIL {item.id}/{label}: {problem or 'passes, but is listed as a known failure'}", flush=True)
        elif a.all:
            print(f"{'known' if problem else 'ok   '} {item.id}/{label}", flush=True)
    if shown > a.most:
        print(f"     {item.id}: {shown - a.most} more variants fail", flush=True)
print(f"{len(chosen)} cases, {variants} variants, {failed} failed, {expected} known failures, {time.time() - start:.1f} s")
sys.exit(1 if failed or not chosen else 0)
