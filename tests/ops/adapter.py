"""The name of the adapter under test, as the plug-in's library tells it; "cpu" when the CPU stands in for the device."""
import ctypes
import json
import os
from pathlib import Path


def library():
    """The plug-in's shared library: the one named by the environment, or the installed wheel's."""
    path = os.environ.get("TF_PLUGGABLE_DEVICE_LIBRARY_PATH")
    if path:
        return path
    import tensorflow as tf

    folder = Path(tf.__file__).resolve().parent.parent / "tensorflow-plugins"
    found = sorted(folder.glob("libtensorflow_vulkan.*"))
    return str(found[0]) if found else None


def name():
    if "CPU" in os.environ.get("TFVK_TEST_DEVICE", ""):
        return "cpu"
    path = library()
    if not path:
        return "none"
    lib = ctypes.CDLL(path)
    if not hasattr(lib, "tfvk_devices_json"):
        return "unknown"
    lib.tfvk_devices_json.restype = ctypes.c_size_t
    lib.tfvk_devices_json.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    size = lib.tfvk_devices_json(None, 0)
    text = ctypes.create_string_buffer(size + 1)
    lib.tfvk_devices_json(text, size + 1)
    devices = [d for d in json.loads(text.value).get("devices", []) if d.get("visible")]
    return devices[0]["name"] if devices else "none"
