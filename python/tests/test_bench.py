"""`tfvk bench`: one quick benchmark on the installed library, and what its lines look like; ratios to a peer's figures."""
import importlib.util
import io
import json
import pathlib
import subprocess

from tensorflow_vulkan import bench, library

SCRIPT = pathlib.Path(__file__).parents[2] / "benches" / "ratio.py"
spec = importlib.util.spec_from_file_location("bench_ratio", SCRIPT)
bench_ratio = importlib.util.module_from_spec(spec)
spec.loader.exec_module(bench_ratio)


def test_a_quick_benchmark_prints_json_lines(tfvk, env):
    p = subprocess.run([tfvk, "bench", "--json", "--quick", "add_f32"], env=env, capture_output=True, text=True, timeout=300)
    lines = [json.loads(line) for line in p.stdout.splitlines()]
    assert p.returncode == 0, p.stdout + p.stderr
    assert lines[0]["device"] and lines[0]["driver"]
    results = [d for d in lines[1:] if d["name"].startswith("add_f32")]
    assert results and all(d["ms"] > 0 and d["gbs"] >= 0 for d in results)


def test_without_a_device_it_fails_with_a_sentence(tfvk, env):
    env["TFVK_VISIBLE_DEVICES"] = "-1"
    p = subprocess.run([tfvk, "bench", "--json"], env=env, capture_output=True, text=True, timeout=60)
    assert p.returncode == 1
    assert "error" in json.loads(p.stdout.splitlines()[-1])


def test_a_failed_benchmark_fails_the_command(monkeypatch):
    def run(line, name, quick):
        line('{"device": "d", "driver": "v", "quick": true}')
        line('{"name": "a", "ms": 1.5, "gbs": 7}')
        line('{"name": "b", "error": "no"}')
        return 0

    monkeypatch.setattr(library, "bench", run)
    out = io.StringIO()
    assert bench.run(out=out) == 1
    text = out.getvalue().splitlines()
    assert text[0] == "d, v" and "1.5000 ms" in text[1] and "7 GB/s" in text[1] and text[2].endswith("no")


def test_ratios_of_two_commands(tmp_path, capsys):
    ours = '{"device": "d"}\n{"name": "a", "ms": 2.0}\n{"name": "mine", "ms": 1}\n'
    peer = '{"device": "d", "torch": "2"}\n{"name": "a", "ms": 3.0}\n{"name": "theirs", "ms": 1}\n'
    commands = []
    for name, text in (("ours", ours), ("peer", peer), ("broken", ours + '{"name": "b", "error": "no"}\n')):
        (tmp_path / name).write_text(text)
        commands.append(f"cat {tmp_path / name}")
    assert bench_ratio.main(["--json", "--ours", commands[0], "--peer", commands[1]]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out.splitlines()[-1]) == {"name": "a", "ours_ms": 2.0, "peer_ms": 3.0, "ratio": 1.5}
    assert "only ours: mine" in said.err and "only the peer's: theirs" in said.err
    assert bench_ratio.main(["--ours", commands[2], "--peer", commands[1]]) == 1, "an error of a benchmark is an error"
    assert bench_ratio.main(["--ours", commands[0], "--peer", "false"]) == 1, "and so is a command that fails"
