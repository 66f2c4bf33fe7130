"""The wheel: what is in it, its tag, its size."""
import zipfile
from pathlib import Path

DIST = Path(__file__).resolve().parents[2] / "dist"


def test_the_wheel_holds_the_library_where_tensorflow_looks():
    (wheel,) = DIST.glob("*.whl")
    assert wheel.name.endswith("-py3-none-linux_x86_64.whl")
    assert wheel.stat().st_size <= 10_000_000
    names = zipfile.ZipFile(wheel).namelist()
    assert "tensorflow-plugins/libtensorflow_vulkan.so" in names
    assert {"tensorflow_vulkan/cli.py", "tensorflow_vulkan/demos/cnn.py", "tensorflow_vulkan/demos/vit.py"} <= set(names)
    assert not any("test" in n for n in names)


def test_the_demos_are_plain_keras():
    folder = Path(__file__).resolve().parents[1] / "tensorflow_vulkan" / "demos"
    for name in ("cnn.py", "vit.py"):
        text = (folder / name).read_text()
        code = "\n".join(line for line in text.splitlines() if not line.startswith('"""'))
        assert not any(w in code for w in ("vulkan", "tfvk", "tf.device", "keras.device", "jit_compile", "import tensorflow")), name
