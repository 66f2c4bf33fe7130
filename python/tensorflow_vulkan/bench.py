"""`tfvk bench`: times of kernels, launches and copies on the first visible adapter, without TensorFlow."""
import json
import sys

from tensorflow_vulkan import library

UNITS = (("tflops", "TFLOP/s"), ("gbs", "GB/s"), ("host_us", "us of host time"))


def pretty(text):
    """One JSON line as a line for people."""
    d = json.loads(text)
    if "device" in d:
        return f"{d['device']}, {d['driver']}"
    if "error" in d:
        return f"{d.get('name', 'bench'):32} {d['error']}"
    rate = "".join(f"  {d[k]:>10} {unit}" for k, unit in UNITS if k in d)
    ms = f"{d['ms']:10.4f} ms" if "ms" in d else ""
    return f"{d['name']:32} {ms}{rate}"


def run(name="", quick=False, as_json=False, out=sys.stdout):
    """Exit code 0 when every benchmark ran."""
    failed = []

    def line(text):
        if "error" in json.loads(text):
            failed.append(text)
        print(text if as_json else pretty(text), file=out, flush=True)

    try:
        code = library.bench(line, name, quick)
    except library.LibraryError as e:
        print(json.dumps({"error": str(e)}) if as_json else e, file=out)
        return 1
    return 1 if code or failed else 0
