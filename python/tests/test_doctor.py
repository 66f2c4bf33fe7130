"""`tfvk doctor`: healthy as installed; and it finds each thing that can be wrong."""
import importlib.metadata
import json
import re
import subprocess
import types
from pathlib import Path

import pytest
from made_up import GPU, REFUSED, SOFTWARE
from tensorflow_vulkan import doctor, library


def problems(findings):
    return [f.text for f in findings if f.status == doctor.PROBLEM]


def test_the_installation_is_healthy(tfvk, env):
    p = subprocess.run([tfvk, "doctor", "--json"], env=env, capture_output=True, text=True, timeout=400)
    report = json.loads(p.stdout)
    assert p.returncode == 0 and report["ok"], p.stdout
    assert {f["check"] for f in report["findings"]} >= {"system", "loader", "driver", "library", "adapters", "tensorflow", "run"}


def test_a_hidden_device_is_found_by_the_whole_command(tfvk, env):
    env["TFVK_VISIBLE_DEVICES"] = "-1"
    p = subprocess.run([tfvk, "doctor"], env=env, capture_output=True, text=True, timeout=400)
    assert p.returncode == 1
    assert "TFVK_VISIBLE_DEVICES=-1 leaves no adapter" in p.stdout and "problem" in p.stdout


def test_a_missing_loader(monkeypatch):
    def missing(name):
        raise OSError("no such file")

    monkeypatch.setattr(doctor.ctypes, "CDLL", missing)
    assert "loader" in problems(doctor.check_loader())[0]


def test_a_missing_driver(monkeypatch, tmp_path):
    monkeypatch.delenv("VK_DRIVER_FILES", raising=False)
    monkeypatch.delenv("VK_ICD_FILENAMES", raising=False)
    monkeypatch.setattr(doctor, "MANIFESTS", (str(tmp_path),))
    assert "No Vulkan driver" in problems(doctor.check_driver())[0]
    monkeypatch.setenv("VK_DRIVER_FILES", str(tmp_path / "gone.json"))
    assert "does not exist" in problems(doctor.check_driver())[0]


def test_a_missing_library(monkeypatch, tmp_path):
    monkeypatch.delenv("TFVK_LIBRARY", raising=False)
    monkeypatch.delenv("TF_PLUGGABLE_DEVICE_LIBRARY_PATH", raising=False)
    monkeypatch.setattr(library, "plugin_folders", lambda: [tmp_path])
    assert "not installed" in problems(doctor.check_library())[0]
    (tmp_path / library.NAME).write_text("not a library")
    assert "does not load" in problems(doctor.check_library())[0]


def test_an_adapter_without_64_bit_integers(fake):
    fake([{**GPU, "features": {"int64": False}}])
    assert any(f.status == doctor.WARNING and "lacks 64-bit integer arithmetic" in f.text for f in doctor.check_adapters())
    fake([{**GPU, "features": {"int64": True}}])
    assert not any("64-bit" in f.text for f in doctor.check_adapters())


@pytest.mark.parametrize(
    ("found", "error", "word"),
    [([], None, "No usable"), ([SOFTWARE], None, "Only a software driver"), ([REFUSED], None, "No usable"), ([], "Vulkan cannot be loaded.", "cannot be loaded")],
)
def test_no_adapter(fake, monkeypatch, found, error, word):
    monkeypatch.delenv("TFVK_VISIBLE_DEVICES", raising=False)
    fake(found, error)
    assert word in problems(doctor.check_adapters())[0]


def test_a_software_device_is_a_warning_and_a_gpu_is_fine(fake):
    fake([{**SOFTWARE, "visible": True, "tensorflow_index": 0}])
    assert [f.status for f in doctor.check_adapters()] == [doctor.WARNING]
    fake([GPU])
    assert [f.status for f in doctor.check_adapters()] == [doctor.OK]


def versions(monkeypatch, **installed):
    def version(name):
        if name in installed:
            return installed[name]
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(doctor.importlib, "metadata", types.SimpleNamespace(version=version, PackageNotFoundError=importlib.metadata.PackageNotFoundError))


def test_tensorflow_versions(monkeypatch):
    versions(monkeypatch)
    assert "not installed" in problems(doctor.check_tensorflow())[0]
    versions(monkeypatch, **{"tensorflow-cpu": "2.15.1"})
    assert "too old" in problems(doctor.check_tensorflow())[0]
    versions(monkeypatch, **{"tensorflow-cpu": "2.21.0", "tensorflow": "2.18.0"})
    assert "overwrite" in problems(doctor.check_tensorflow())[0]
    versions(monkeypatch, **{"tensorflow-cpu": "2.21.0", "tensorflow": "2.21.0"})
    assert not problems(doctor.check_tensorflow())


def test_conflicting_plug_ins(monkeypatch, tmp_path):
    versions(monkeypatch, **{"tensorflow-directml-plugin": "0.4"})
    monkeypatch.setattr(library, "plugin_folders", lambda: [tmp_path])
    assert "directml" in problems(doctor.check_conflicts())[0]
    versions(monkeypatch)
    (tmp_path / "libother.so").write_text("")
    monkeypatch.setenv("TF_PLUGGABLE_DEVICE_LIBRARY_PATH", "/gone/libx.so")
    found = list(doctor.check_conflicts())
    assert any("libother.so" in f.text for f in found) and "does not exist" in problems(found)[0]


@pytest.mark.parametrize(
    ("answer", "word"),
    [('{"gpus": [], "error": null}', "did not load the plug-in"), ('{"gpus": ["a"], "error": "the product is wrong", "cuda": false}', "the product is wrong")],
)
def test_what_tensorflow_answers(monkeypatch, answer, word):
    monkeypatch.setattr(doctor, "PROBE", f"import sys; print('tfvk: a reason', file=sys.stderr); print('ANSWER' + '''{answer}''')")
    text = problems(doctor.check_run())[0]
    assert word in text and "tfvk: a reason" in text


@pytest.mark.parametrize(("said", "status"), [("tensorflow-vulkan: its own kernels could not be hidden", doctor.PROBLEM), ("", doctor.OK)])
def test_a_tensorflow_built_for_cuda(monkeypatch, said, status):
    answer = json.dumps({"gpus": ["a"], "error": None, "cuda": True})
    monkeypatch.setattr(doctor, "PROBE", f"import sys; print({said!r}, file=sys.stderr); print('ANSWER' + {answer!r})")
    found = [f for f in doctor.check_run() if "CUDA" in f.text]
    assert [f.status for f in found] == [status] and said in found[0].text


def test_a_crash_of_tensorflow_is_told(monkeypatch):
    monkeypatch.setattr(doctor, "PROBE", "import sys; print('last words', file=sys.stderr); sys.exit(134)")
    assert "134" in problems(doctor.check_run())[0] and "last words" in problems(doctor.check_run())[0]


def test_settings_that_are_none_and_wrong_values(monkeypatch):
    for name in doctor.SETTINGS:
        monkeypatch.delenv(name, raising=False)
    assert not list(doctor.check_settings())
    monkeypatch.setenv("TFVK_VISIBLE_DEVICE", "0")
    monkeypatch.setenv("TFVK_FUSION", "off")
    monkeypatch.setenv("TFVK_DEVICE_TYPE", "gpu")
    said = [f.text for f in doctor.check_settings()]
    assert len(said) == 3 and "is TFVK_VISIBLE_DEVICES meant?" in said[0], said


def test_every_setting_of_the_library_is_known():
    source = Path(__file__).resolve().parents[2] / "crates/device/src/env.rs"
    named = set(re.findall(r"^//! \| `(TFVK_\w+)`", source.read_text(), re.M))
    assert len(named) > 10 and named <= set(doctor.SETTINGS), named - set(doctor.SETTINGS)
