"""Puts the built library into the wheel, in the folder from which TensorFlow loads plug-ins, and tags the wheel."""
import os
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

MOST = 10_000_000  # bytes of the library: the wheel stays under 10 MB


class PluginLibrary(BuildHookInterface):
    """The library is named by TFVK_LIBRARY, or is what `cargo build --release` left."""

    def initialize(self, version, build_data):
        default = Path(self.root).parent / "target" / "release" / "libtensorflow_vulkan.so"
        library = Path(os.environ.get("TFVK_LIBRARY") or default).resolve()
        if not library.is_file():
            raise FileNotFoundError(f"{library} is missing: build it with `cargo build --release -p tfvk-plugin`")
        if library.stat().st_size > 2 * MOST:
            raise ValueError(f"{library} has {library.stat().st_size} bytes: is it a release build?")
        build_data["force_include"][str(library)] = "tensorflow-plugins/libtensorflow_vulkan.so"
        build_data["pure_python"] = False
        build_data["tag"] = "py3-none-linux_x86_64"
