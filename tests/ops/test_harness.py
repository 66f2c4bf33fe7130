"""The harness must be able to fail: wrong values, wrong bits, changed inputs, missing kernels, stale known failures."""
import numpy as np
import pytest

import compare
import harness
from table import ACCUM, CLOSE, EXACT, FLOATS, case, t, unary


def item(c, dtype="float32"):
    return harness.Item("self", c, dtype, True)


@pytest.fixture
def on_cpu(monkeypatch):
    monkeypatch.setattr(harness, "DEVICE", harness.CPU)


def test_compare_tells_bits_signs_and_nans_apart():
    f = lambda *v: np.array(v, np.float32)
    assert compare.difference(f(0.0), f(-0.0), "float32", EXACT)
    assert compare.difference(f(np.nan), f(1.0), "float32", CLOSE)
    assert compare.difference(f(np.inf), f(-np.inf), "float32", ACCUM)
    assert compare.difference(f(1.0), f(1.0001), "float32", CLOSE)
    assert compare.difference(f(1.0, 2.0), f(1.0), "float32", CLOSE)
    assert compare.difference(np.array([1]), np.array([2]), "int64", EXACT)
    assert compare.difference(f(1.0), f(1.000001), "float32", CLOSE) is None
    assert compare.difference(f(np.nan, -0.0), f(np.nan, -0.0), "float32", EXACT) is None
    assert "at [1]" in compare.difference(f(1, 5, 3), f(1, 2, 3), "float32", CLOSE)


def sabotage(monkeypatch, change):
    """Lets `change(outputs, run)` spoil what the device under test returns; the reference run is left alone."""
    true, runs = harness.Run.outputs, []
    monkeypatch.setattr(harness, "DEVICE", "/device:cpu:0")

    def outputs(self):
        out = true(self)
        runs.append(self)
        return change([np.array(o) for o in out], len(runs)) if out is not None and self.device == "/device:cpu:0" else out

    monkeypatch.setattr(harness.Run, "outputs", outputs)


def test_a_wrong_value_fails(monkeypatch):
    sabotage(monkeypatch, lambda out, n: [o + o.dtype.type(1) for o in out])
    assert all(p and "wrong" in p for label, p in harness.check(item(unary("Exp", FLOATS))) if label == "main")


def test_a_run_that_does_not_repeat_fails(monkeypatch):
    sabotage(monkeypatch, lambda out, n: [o + o.dtype.type(n) for o in out])
    assert dict(harness.check(item(unary("Exp", FLOATS))))["main"] == "two runs differ in their bits"


def test_a_changed_input_fails(monkeypatch, on_cpu):
    monkeypatch.setattr(harness.Run, "changed_input", lambda self: "input 0 was changed by the op")
    assert dict(harness.check(item(unary("Exp", FLOATS))))["main"] == "input 0 was changed by the op"


def test_an_op_without_a_kernel_fails(on_cpu):
    problems = dict(harness.check(item(case("Rint", ("bfloat16",), {"x": t(3)}), "bfloat16")))
    assert "NotFoundError" in problems["main"]


def test_a_case_with_a_mistake_fails(on_cpu):
    problems = dict(harness.check(item(case("MatMul", FLOATS, {"a": t(2, 3), "b": t(4, 5)}))))
    assert "mistake in the case" in problems["main"]


def test_a_refused_case_passes_only_when_refused(on_cpu):
    bad = case("MatMul", FLOATS, {"a": t(2, 3), "b": t(4, 5)}, refused=True, special=False)
    good = case("MatMul", FLOATS, {"a": t(2, 3), "b": t(3, 5)}, refused=True, special=False)
    assert dict(harness.check(item(bad)))["main"] is None
    assert dict(harness.check(item(good)))["main"] == "the CPU accepts it"


def test_known_failures_cover_and_go_stale(tmp_path, monkeypatch, on_cpu):
    file = tmp_path / "known.txt"
    file.write_text("some gpu* | self/Exp[x]/float32/main | a reason\n")
    monkeypatch.setattr(harness, "KNOWN", file)
    known = harness.Known("Some GPU 9000")
    assert known.covers("self/Exp[x]/float32/main") and not known.covers("self/Exp[x]/float32/special")
    assert not harness.Known("Another").rules
    lines = harness.verdict(item(unary("Exp", FLOATS, tag="x")), known)
    assert len(lines) == 1 and "remove the line" in lines[0]
