"""`tfvk doctor`: looks at everything between a script and the GPU, in order, and says what is wrong and what to do.

Each check is a function that yields findings; `run` prints them and exits with 1 when one is a problem.
"""
import ctypes
import difflib
import glob
import importlib.metadata
import json
import os
import platform
import re
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from tensorflow_vulkan import devices, library

OK, WARNING, PROBLEM = "ok", "warning", "problem"
OLDEST_TENSORFLOW = (2, 16)
TENSORFLOWS = ("tensorflow", "tensorflow-cpu", "tf-nightly", "tf-nightly-cpu", "tensorflow-rocm")
OTHER_PLUGINS = ("tensorflow-directml-plugin", "intel-extension-for-tensorflow", "tensorflow-metal")
MANIFESTS = ("/usr/share/vulkan/icd.d", "/usr/local/share/vulkan/icd.d", "/etc/vulkan/icd.d", "~/.local/share/vulkan/icd.d")

# What the library reads, and what this package and the tests do.
SETTINGS = tuple(f"TFVK_{n}" for n in (
    "VISIBLE_DEVICES", "ALLOW_SOFTWARE", "DEVICE_TYPE", "FUSION", "LOG", "VALIDATION", "PROFILE", "CACHE_DIR", "LIMIT_INVOCATIONS",
    "LIMIT_SHARED_MEMORY", "LIMIT_GROUPS", "LIMIT_ALLOCATION", "LIMIT_WORK", "LOSE_AFTER", "FAR", "DISABLE", "EMULATE", "DRIVER_SCOPE",
    "LIBRARY", "TEST_DEVICE", "WINDOWS_TOOLS", "REQUIRE_SPIRV_VAL",
))


@dataclass
class Finding:
    """One line of the report. `fix`: what to do about it."""

    check: str
    status: str
    text: str
    fix: str = ""


def check_system():
    if sys.platform != "linux" or platform.machine() != "x86_64":
        yield Finding("system", PROBLEM, f"This wheel is for Linux on x86-64, this is {sys.platform} on {platform.machine()}.")
    version = sys.version_info
    if (3, 10) <= version < (3, 14):
        yield Finding("system", OK, f"Python {platform.python_version()} on {platform.platform()}")
    else:
        yield Finding("system", PROBLEM, f"Python {platform.python_version()} is not supported.", "Use Python 3.10 to 3.13.")


def check_loader():
    try:
        ctypes.CDLL("libvulkan.so.1")
        yield Finding("loader", OK, "The Vulkan loader libvulkan.so.1 is installed.")
    except OSError:
        yield Finding("loader", PROBLEM, "The Vulkan loader libvulkan.so.1 is missing.", "sudo apt-get install libvulkan1")


def manifests():
    """(where they are looked for, the driver manifests found)."""
    for variable in ("VK_DRIVER_FILES", "VK_ICD_FILENAMES"):
        if os.environ.get(variable):
            named = os.environ[variable].split(os.pathsep)
            return variable, [f for n in named for f in (glob.glob(n + "/*.json") if Path(n).is_dir() else [n])]
    return "the system's folders", [f for d in MANIFESTS for f in sorted(glob.glob(os.path.expanduser(d) + "/*.json"))]


def check_driver():
    where, found = manifests()
    for f in found:
        if not Path(f).is_file():
            yield Finding("driver", PROBLEM, f"{where} names {f}, which does not exist.", f"Correct {where} or unset it.")
    existing = [f for f in found if Path(f).is_file()]
    if existing:
        yield Finding("driver", OK, "Vulkan drivers: " + ", ".join(Path(f).name for f in existing))
    elif not found:
        yield Finding("driver", PROBLEM, f"No Vulkan driver was found in {where}.", "Install your GPU's driver; AMD, Intel and software: sudo apt-get install mesa-vulkan-drivers")
    if Path("/proc/driver/nvidia/version").exists() and not any("nvidia" in Path(f).name for f in existing):
        yield Finding("driver", WARNING, "The NVIDIA kernel driver is there, its Vulkan part is not.", "Install the package libnvidia-gl of your driver's version.")
    closed = [n for n in glob.glob("/dev/dri/renderD*") if not os.access(n, os.R_OK | os.W_OK)]
    if closed:
        yield Finding("driver", WARNING, f"This user may not open {', '.join(closed)}.", "sudo usermod -aG render $USER, then log in again.")


def check_library():
    try:
        path = library.find()
        library.load(path)
        yield Finding("library", OK, f"The plug-in's library is {path}")
    except library.LibraryError as e:
        yield Finding("library", PROBLEM, str(e))


def check_adapters():
    try:
        found = library.devices()
    except library.LibraryError:
        return  # check_library has said it
    if found["error"]:
        yield Finding("adapters", PROBLEM, found["error"])
    for d in found["devices"]:
        software = d["visible"] and d["kind"] == "software"
        text = devices.summary(d) + (f" ({d['why_not']})" if d["why_not"] else "")
        yield Finding("adapters", WARNING if software else OK, text, "This is a software driver: correct, but slow. Install your GPU's driver." if software else "")
        if d["visible"] and not d.get("features", {}).get("int64", True):
            yield Finding("adapters", WARNING, f"{d['name']} lacks 64-bit integer arithmetic: int64 is computed on the host, slowly, or not at all.", "A newer driver may have it.")
    if not found["error"] and not any(d["visible"] for d in found["devices"]):
        if any(d["kind"] == "software" and d["usable"] for d in found["devices"]) and not os.environ.get("TFVK_VISIBLE_DEVICES"):
            yield Finding("adapters", PROBLEM, "Only a software driver was found.", "Install your GPU's driver, or set TFVK_ALLOW_SOFTWARE=1 to use the software one.")
        elif os.environ.get("TFVK_VISIBLE_DEVICES"):
            yield Finding("adapters", PROBLEM, f"TFVK_VISIBLE_DEVICES={os.environ['TFVK_VISIBLE_DEVICES']} leaves no adapter.", "Unset it, or name an index of `tfvk devices`.")
        else:
            yield Finding("adapters", PROBLEM, "No usable Vulkan adapter was found.")


def installed(names):
    for n in names:
        try:
            yield n, importlib.metadata.version(n)
        except importlib.metadata.PackageNotFoundError:
            pass


def check_settings():
    for name in sorted(n for n in os.environ if n.startswith("TFVK_") and n not in SETTINGS):
        close = difflib.get_close_matches(name, SETTINGS, 1, 0.7)
        meant = f" (is {close[0]} meant?)" if close else ""
        yield Finding("settings", WARNING, f"{name} is set, which is no setting{meant}.", "The settings are in the README and at the top of crates/device/src/env.rs.")
    kind = os.environ.get("TFVK_DEVICE_TYPE", "")
    if kind and not re.fullmatch("[A-Z][A-Z_]*", kind):
        yield Finding("settings", WARNING, f"TFVK_DEVICE_TYPE={kind} is not a device type (capital letters and _): it is GPU.")
    fusion = os.environ.get("TFVK_FUSION", "")
    if fusion not in ("", "0", "1"):
        yield Finding("settings", WARNING, f"TFVK_FUSION must be 0 or 1, not '{fusion}': operators are fused.")


def check_tensorflow():
    # `tensorflow-cpu` may come with an empty `tensorflow` of the same version.
    found = dict(installed(TENSORFLOWS))
    if not found:
        yield Finding("tensorflow", PROBLEM, "TensorFlow is not installed for this Python.", "pip install tensorflow-cpu")
        return
    if len(set(found.values())) > 1:
        yield Finding("tensorflow", PROBLEM, "Several TensorFlow packages overwrite each other: " + ", ".join(f"{n} {v}" for n, v in found.items()) + ".", "Uninstall all of them, then install one.")
    name, version = next(iter(found.items()))
    number = tuple(int(p) for p in re.findall(r"\d+", version)[:2])
    if number < OLDEST_TENSORFLOW:
        yield Finding("tensorflow", PROBLEM, f"{name} {version} is too old.", "pip install 'tensorflow-cpu>=2.16'")
    else:
        yield Finding("tensorflow", OK, f"{name} {version}")


def check_conflicts():
    for name, version in installed(OTHER_PLUGINS):
        yield Finding("conflicts", PROBLEM, f"{name} {version} also brings a device to TensorFlow.", f"pip uninstall {name}")
    ours = 0
    for folder in library.plugin_folders():
        for f in sorted(folder.glob("*")):
            if f.name == library.NAME:
                ours += 1
            elif f.suffix in (".so", ".dylib", ".dll"):
                yield Finding("conflicts", WARNING, f"Another plug-in is installed: {f}", "If it brings a GPU device too, uninstall it.")
    named = os.environ.get("TF_PLUGGABLE_DEVICE_LIBRARY_PATH", "")
    if named and not Path(named).exists():
        yield Finding("conflicts", PROBLEM, f"TF_PLUGGABLE_DEVICE_LIBRARY_PATH names {named}, which does not exist.", "Unset it.")
    elif ours and Path(named).name == library.NAME:
        yield Finding("conflicts", WARNING, "The plug-in is installed, and named by TF_PLUGGABLE_DEVICE_LIBRARY_PATH as well: only one of the two is used.", "Unset the variable.")


PROBE = """
import json, numpy as np, tensorflow as tf
found = [d.name for d in tf.config.list_physical_devices("GPU")]
answer = {"gpus": found, "error": None, "cuda": tf.test.is_built_with_cuda()}
if found:
    try:
        a = np.arange(12, dtype=np.float32).reshape(3, 4)
        with tf.device("/GPU:0"):
            b = tf.matmul(a, a, transpose_b=True)
        if "GPU" not in b.device: answer["error"] = "the product ran on " + b.device
        elif not np.allclose(b.numpy(), a @ a.T): answer["error"] = "the product is wrong"
    except Exception as e:
        answer["error"] = type(e).__name__ + ": " + str(e)[:300]
print("ANSWER" + json.dumps(answer))
"""


def check_run(timeout=300):
    """TensorFlow itself, in a process of its own: does it take the plug-in, does a product come out right?"""
    if not dict(installed(TENSORFLOWS)):
        return
    env = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="0")
    try:
        p = subprocess.run([sys.executable, "-c", PROBE], env=env, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        yield Finding("run", PROBLEM, f"TensorFlow did not finish a small product in {timeout} s.")
        return
    ours = [line for line in p.stderr.splitlines() if re.search(r"tfvk|vulkan|plug-?in", line, re.I)]
    said = ("\n".join([" It said:", *ours[-6:]])) if ours else ""
    answer = [line[6:] for line in p.stdout.splitlines() if line.startswith("ANSWER")]
    if p.returncode or not answer:
        last = (p.stderr.strip().splitlines() or ["nothing"])[-1]
        yield Finding("run", PROBLEM, f"TensorFlow ended with exit code {p.returncode}; its last words: {last}")
        return
    answer = json.loads(answer[-1])
    if not answer["gpus"]:
        yield Finding("run", PROBLEM, f"TensorFlow runs, but did not load the plug-in or got no device from it.{said}", "See the problems above; if there is none, set TFVK_LOG=debug and report what it prints.")
    elif answer["error"]:
        yield Finding("run", PROBLEM, f"A matrix product on the device failed: {answer['error']}.{said}")
    else:
        if answer["cuda"] and any("could not be hidden" in line for line in ours):
            yield Finding("run", PROBLEM, f"This TensorFlow was built for CUDA, and ops that the plug-in lacks may crash in its own kernels.{said}", "Install tensorflow-cpu instead.")
        elif answer["cuda"]:
            yield Finding("run", OK, "This TensorFlow was built for CUDA; its own GPU kernels are hidden, so it does what tensorflow-cpu does.")
        yield Finding("run", OK, f"TensorFlow sees {len(answer['gpus'])} GPU device{'s' * (len(answer['gpus']) > 1)} and a matrix product on it is right.")


CHECKS = (check_system, check_loader, check_driver, check_library, check_adapters, check_settings, check_tensorflow, check_conflicts, check_run)


def run(as_json=False, out=sys.stdout):
    """Exit code 0 when nothing is wrong (warnings do not count)."""
    findings = []
    for check in CHECKS:
        for f in check():
            findings.append(f)
            if not as_json:
                print(f"{f.status:8} {f.check + ':':12} {f.text}", file=out, flush=True)
                if f.fix:
                    print(f"{'':22}-> {f.fix}", file=out, flush=True)
    problems = sum(f.status == PROBLEM for f in findings)
    if as_json:
        print(json.dumps({"ok": not problems, "findings": [asdict(f) for f in findings]}, indent=2), file=out)
    else:
        print("Nothing is wrong." if not problems else f"{problems} problem{'s' * (problems > 1)} found.", file=out)
    return 1 if problems else 0
