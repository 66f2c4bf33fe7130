"""`tfvk devices`: on the installed library, and on made-up adapters."""
import io
import json
import subprocess

from made_up import GPU, REFUSED, SOFTWARE
from tensorflow_vulkan import devices, library


def test_the_installed_library_lists_a_device(tfvk, env):
    p = subprocess.run([tfvk, "devices", "--json"], env=env, capture_output=True, text=True, timeout=60)
    assert p.returncode == 0, p.stdout + p.stderr
    report = json.loads(p.stdout)
    seen = [d for d in report["devices"] if d["visible"]]
    assert seen and report["error"] is None
    for d in seen:
        assert d["name"] and d["driver"] and d["memory_bytes"] > 0 and d["kind"] in ("discrete", "integrated", "virtual", "software")
        assert d["features"] and d["limits"]["max_invocations"] >= 128
    text = subprocess.run([tfvk, "devices"], env=env, capture_output=True, text=True, timeout=60).stdout
    assert seen[0]["name"] in text and "GPU:0" in text


def test_it_needs_no_tensorflow(tfvk, env):
    code = "import sys; sys.modules['tensorflow'] = None; from tensorflow_vulkan.cli import main; sys.exit(main(['devices']))"
    from sys import executable

    p = subprocess.run([executable, "-c", code], env=env, capture_output=True, text=True, timeout=60)
    assert p.returncode == 0, p.stdout + p.stderr


def test_no_driver_is_one_clear_sentence_and_a_failure(tfvk, env):
    env.update(VK_DRIVER_FILES="/nonexistent.json", VK_ICD_FILENAMES="/nonexistent.json")
    p = subprocess.run([tfvk, "devices"], env=env, capture_output=True, text=True, timeout=60)
    assert p.returncode == 1
    assert len(p.stdout.strip().splitlines()) == 1 and "river" in p.stdout, p.stdout


def test_hiding_every_device_is_a_failure(tfvk, env):
    env["TFVK_VISIBLE_DEVICES"] = "-1"
    p = subprocess.run([tfvk, "devices", "--json"], env=env, capture_output=True, text=True, timeout=60)
    assert p.returncode == 1
    assert not any(d["visible"] for d in json.loads(p.stdout)["devices"])


def test_a_wrong_index_is_explained(tfvk, env):
    env["TFVK_VISIBLE_DEVICES"] = "77"
    p = subprocess.run([tfvk, "devices"], env=env, capture_output=True, text=True, timeout=60)
    assert p.returncode == 1 and "77" in p.stdout


def test_refused_and_software_adapters_say_why(fake):
    fake([GPU, SOFTWARE, REFUSED])
    out = io.StringIO()
    assert devices.run(out=out) == 0
    text = out.getvalue()
    assert "Some GPU (discrete, driver 1.2, 8.0 GiB): GPU:0" in text
    assert "TFVK_ALLOW_SOFTWARE" in text and "lacks 8-bit storage" in text


def test_an_adapter_that_lacks_something_is_listed_with_what_it_lacks(tfvk, env):
    env["TFVK_DISABLE"] = "storage16"
    p = subprocess.run([tfvk, "devices", "--json"], env=env, capture_output=True, text=True, timeout=60)
    assert p.returncode == 1, p.stdout + p.stderr
    report = json.loads(p.stdout)
    assert report["devices"] and report["error"] is None
    for d in report["devices"]:
        assert not d["usable"] and not d["visible"]
        assert d["why_not"] == f"{d['name']} lacks 16-bit storage (storageBuffer16BitAccess)"
    text = subprocess.run([tfvk, "doctor"], env=env, capture_output=True, text=True, timeout=300)
    assert text.returncode == 1 and "lacks 16-bit storage" in text.stdout and "No usable Vulkan adapter" in text.stdout


def test_a_missing_library_is_a_sentence(monkeypatch):
    def missing(lib=None):
        raise library.LibraryError("It is not there.")

    monkeypatch.setattr(library, "devices", missing)
    out = io.StringIO()
    assert devices.run(as_json=True, out=out) == 1
    assert json.loads(out.getvalue())["error"] == "It is not there."
