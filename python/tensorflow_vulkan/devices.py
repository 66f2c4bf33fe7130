"""`tfvk devices`: the Vulkan adapters and which of them TensorFlow will see."""
import json
import sys

from tensorflow_vulkan import library


def summary(d):
    """One line about one adapter."""
    state = "GPU:%d" % d["tensorflow_index"] if d["visible"] else "not used"
    return f"{d['index']}: {d['name']} ({d['kind']}, {d['driver']}, {d['memory_bytes'] / 2**30:.1f} GiB): {state}"


def run(as_json=False, out=sys.stdout):
    """Exit code 0 when TensorFlow will see a device, else 1."""
    try:
        report = library.devices()
    except library.LibraryError as e:
        report = {"version": None, "error": str(e), "devices": []}
    if as_json:
        print(json.dumps(report, indent=2), file=out)
    else:
        for d in report["devices"]:
            print(summary(d), file=out)
            if d["why_not"]:
                print(f"   {d['why_not']}", file=out)
        if report["error"]:
            print(report["error"], file=out)
        elif not report["devices"]:
            print("No Vulkan adapter was found: no driver is installed. `tfvk doctor` explains.", file=out)
    return 0 if any(d["visible"] for d in report["devices"]) else 1
