"""The plug-in's shared library: where it is, and its small C interface (no TensorFlow needed).

    size_t  tfvk_devices_json(char *out, size_t capacity);
    int32_t tfvk_bench(const char *filter, int32_t quick, void (*line)(const char *json, void *data), void *data);
"""
import ctypes
import importlib.util
import json
import os
import sysconfig
from pathlib import Path

NAME = "libtensorflow_vulkan.so"
LINE = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_void_p)


class LibraryError(Exception):
    """The library is missing or does not load; the message is one sentence for the user."""


def plugin_folders():
    """Folders from which the TensorFlow of this Python loads plug-ins."""
    folders = [Path(sysconfig.get_paths()[k]) / "tensorflow-plugins" for k in ("purelib", "platlib")]
    spec = importlib.util.find_spec("tensorflow")
    if spec and spec.origin:
        folders.append(Path(spec.origin).resolve().parent.parent / "tensorflow-plugins")
    return list(dict.fromkeys(f for f in folders if f.is_dir()))


def find():
    """The library's path: TFVK_LIBRARY, the plug-in that TensorFlow is told to load, or the installed wheel's."""
    for variable in ("TFVK_LIBRARY", "TF_PLUGGABLE_DEVICE_LIBRARY_PATH"):
        path = os.environ.get(variable, "")
        if Path(path).name == NAME:
            if not Path(path).is_file():
                raise LibraryError(f"{variable} names {path}, which does not exist.")
            return Path(path)
    for folder in plugin_folders():
        if (folder / NAME).is_file():
            return folder / NAME
    raise LibraryError(f"{NAME} is not installed beside this Python's TensorFlow: install the wheel with `pip install tensorflow-vulkan`.")


def load(path=None):
    """The library with the types of its functions declared."""
    path = path or find()
    try:
        lib = ctypes.CDLL(str(path))
        lib.tfvk_devices_json.restype = ctypes.c_size_t
        lib.tfvk_devices_json.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
        lib.tfvk_bench.restype = ctypes.c_int32
        lib.tfvk_bench.argtypes = [ctypes.c_char_p, ctypes.c_int32, LINE, ctypes.c_void_p]
    except (OSError, AttributeError) as e:
        raise LibraryError(f"{path} does not load: {e}.") from e
    return lib


def devices(lib=None):
    """{"version", "error", "devices": [{"index", "name", "driver", "kind", "usable", "visible", "why_not", ...}]}."""
    lib = lib or load()
    # An adapter can come between the two calls: ask until the text fits.
    size = lib.tfvk_devices_json(None, 0)
    while True:
        text = ctypes.create_string_buffer(size + 1)
        needed = lib.tfvk_devices_json(text, size + 1)
        if needed <= size:
            return json.loads(text.value.decode())
        size = needed


def bench(line, name="", quick=False, lib=None):
    """Runs the benchmarks whose names contain `name`; `line` gets each JSON text. Returns the library's exit code."""
    lib = lib or load()
    callback = LINE(lambda text, _: line(text.decode()))
    return lib.tfvk_bench(name.encode(), int(quick), callback, None)
