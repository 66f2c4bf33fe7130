"""Runs variants of op cases on TensorFlow's CPU and on the device under test, and says what differs.

The device's run is made twice and must repeat to the last bit; its inputs are read back and must be unchanged;
soft placement is off, so an op without a kernel is a failure, never a silent fallback. A float result may differ
from the CPU's only within the case's tolerance, or else must be within it of the op run in float64 (or of the
case's own reference): TensorFlow's CPU is itself inexact in half precision.
"""
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"

import fnmatch
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tensorflow as tf

import adapter
import cases
import compare
from expand import Given, expand
from table import EXACT

tf.config.set_soft_device_placement(False)
CPU = "/device:CPU:0"
# TFVK_TEST_DEVICE=/device:CPU:0 proves the harness itself: the CPU against the CPU.
DEVICE = os.environ.get("TFVK_TEST_DEVICE", "/device:GPU:0")
KNOWN = Path(__file__).with_name("known_failures.txt")


@dataclass
class Item:
    """One case for one dtype: what pytest counts as a test."""

    family: str
    case: object
    dtype: str
    first: bool

    @property
    def id(self):
        tag = f"[{self.case.tag}]" if self.case.tag else ""
        return f"{self.family}/{self.case.op}{tag}/{self.dtype}"


def items(only=""):
    """Every case x dtype whose id matches the regular expression `only`."""
    pattern, seen = re.compile(only), set()
    for family, table in cases.families():
        for c in table:
            for d in c.dtypes:
                item = Item(family, c, d, d == c.dtypes[0])
                if item.id in seen:
                    raise ValueError(f"two cases have the id {item.id}: give one a tag")
                seen.add(item.id)
                if pattern.search(item.id):
                    yield item


class Run:
    """One run of a variant on a device; `outputs()` waits for it."""

    def __init__(self, case, variant, device):
        self.device, self.error, self.out, self.inputs, self.variables = device, None, [], [], []
        with tf.device(device):
            args = {k: self.place(v) for k, v in variant.inputs.items()}
            attrs = {k: tf.dtypes.as_dtype(v) if k in TYPE_NAMES else v for k, v in variant.attrs.items()}
            fn = getattr(tf.raw_ops, case.op)
            try:
                if case.via == "function":
                    self.out = tf.function(lambda a: flatten(fn(**a, **attrs)), jit_compile=False)(args)
                else:
                    self.out = flatten(fn(**args, **attrs))
            except Exception as e:  # the error is a result too: both devices must refuse
                self.error = e

    def place(self, given):
        if isinstance(given, list):
            return [self.place(g) for g in given]
        if given.variable:
            v = tf.Variable(tf.constant(given.array), dtype=given.dtype, use_resource=True)
            self.variables.append(v)
            return v.handle
        x = tf.constant(given.array)
        self.inputs.append((x, given.array))
        return x

    def outputs(self):
        """numpy arrays: the op's outputs, then the variables' values."""
        if self.error is None:
            try:
                return [np.asarray(x.numpy()) for x in self.out] + [np.asarray(v.numpy()) for v in self.variables]
            except Exception as e:
                self.error = e
        return None

    def changed_input(self):
        for i, (x, array) in enumerate(self.inputs):
            if not compare.same_bits(np.asarray(x.numpy()), array):
                return f"input {i} was changed by the op"
        return None

    def fell_back(self, device):
        want = tf.DeviceSpec.from_string(device).device_type
        for x in self.out:
            if hasattr(x, "device") and x.device and tf.DeviceSpec.from_string(x.device).device_type != want:
                return f"ran on {x.device}"
        return None


TYPE_NAMES = {"T", "dtype", "DstT", "SrcT", "out_type", "output_type", "Tout", "out_idx", "output_dtype", "Tidx", "Treal", "U"}


def flatten(out):
    if out is None or isinstance(out, tf.Operation):
        return []
    return [x for x in tf.nest.flatten(out) if isinstance(x, tf.Tensor)]


def check(item):
    """[(variant label, what is wrong or None)] of one case x dtype."""
    variants = list(expand(item.case, item.dtype, item.first))
    # Everything is launched before anything is read, so that the device works in batches.
    runs = [(v, Run(item.case, v, DEVICE), Run(item.case, v, DEVICE)) for v in variants]
    return [(v.label, judge(item.case, item.dtype, v, a, b)) for v, a, b in runs]


def judge(case, dtype, variant, first, second):
    got, again = first.outputs(), second.outputs()
    reference = Run(case, variant, CPU)
    want = reference.outputs()
    if isinstance(reference.error, tf.errors.UnimplementedError) and "roadcast" in str(reference.error):
        reference = Run(case, broadcast(variant), CPU)  # the CPU's kernels stop at a rank, the device must not
        want = reference.outputs()
    if want is None and got is not None and case.ref and absent(reference.error):
        want = without_cpu(case, variant, got)
    if want is None and not case.refused:
        return f"a mistake in the case, the CPU refuses it: {brief(reference.error)}"
    if case.refused:
        return "the CPU accepts it" if want is not None else None if got is None else "the CPU refuses it, the device does not"
    if got is None or again is None:
        return brief(first.error or second.error)
    for a, b in zip(got, again):
        if not compare.same_bits(a, b):
            return "two runs differ in their bits"
    problem = first.changed_input() or first.fell_back(DEVICE)
    if problem:
        return problem
    if len(got) != len(want):
        return f"{len(got)} outputs, expected {len(want)}"
    chosen = range(len(want)) if case.outputs is None else case.outputs
    better = None
    for i in chosen:
        d = want[i].dtype.name
        tol = case.tol if d in compare.TINY else EXACT
        problem = compare.difference(got[i], want[i], d, tol)
        if problem and tol.kind != "exact":
            better = better if better is not None else precise(case, variant)
            if better and compare.difference(got[i], better[i].astype(want[i].dtype), d, tol) is None:
                problem = None
        if problem:
            return f"output {i}: {problem}" if len(want) > 1 else problem
    return None


def absent(error):
    """Whether TensorFlow's CPU has no kernel for the op."""
    return isinstance(error, tf.errors.InvalidArgumentError) and "Supported device types" in str(error) or isinstance(error, tf.errors.NotFoundError)


def without_cpu(case, variant, like):
    """The outputs of the case's reference, in the element types of `like`; None if the reference itself fails."""
    found = precise(case, variant)
    return [f.astype(o.dtype) for f, o in zip(found, like, strict=True)] if len(found) == len(like) else None


def broadcast(variant):
    """The variant with every input brought to the common shape."""
    arrays = np.broadcast_arrays(*[g.array for g in variant.inputs.values()])
    inputs = {k: Given(np.ascontiguousarray(a), g.dtype, g.variable) for (k, g), a in zip(variant.inputs.items(), arrays)}
    return type(variant)(variant.label, inputs, variant.attrs)


def precise(case, variant):
    """The outputs from the case's reference, or from the op itself in float64 on the CPU; [] when there is none."""
    try:
        if case.ref:
            wide = {k: [widen(g).array for g in v] if isinstance(v, list) else widen(v).array for k, v in variant.inputs.items()}
            out = case.ref(**wide)
            return [np.asarray(o) for o in (out if isinstance(out, (tuple, list)) else (out,))]
        inputs = {k: [widen(g) for g in v] if isinstance(v, list) else widen(v) for k, v in variant.inputs.items()}
        attrs = {k: "float64" if v in compare.TINY and k not in ("DstT",) else v for k, v in variant.attrs.items() if v.__hash__}
        attrs.update({k: v for k, v in variant.attrs.items() if not v.__hash__})
        return Run(case, type(variant)(variant.label, inputs, attrs), CPU).outputs() or []
    except Exception:
        return []


def widen(given):
    if given.dtype in ("float16", "bfloat16", "float32"):
        return Given(given.array.astype(np.float64), "float64", given.variable)
    return given


def brief(error):
    text = getattr(error, "message", None) or str(error)
    return f"{type(error).__name__}: {' '.join(text.split())[:300]}"


class Known:
    """known_failures.txt: lines `adapter pattern | id pattern | reason`; an id is family/Op[tag]/dtype/variant."""

    def __init__(self, name=None):
        self.rules = []
        name = adapter.name() if name is None else name
        for number, line in enumerate(KNOWN.read_text().splitlines(), 1):
            if not line.strip() or line.startswith("#"):
                continue
            parts = [p.strip() for p in line.split("|")]
            if len(parts) != 3 or not parts[2]:
                raise ValueError(f"{KNOWN.name}:{number}: expected `adapter | id | reason`")
            if fnmatch.fnmatchcase(name.lower(), parts[0].lower()):
                self.rules.append(re.compile(fnmatch.translate(parts[1].replace("[", "[[]"))))

    def covers(self, full_id):
        return any(r.match(full_id) for r in self.rules)


def verdict(item, known):
    """Lines to report for one case x dtype: failures that are not known, and known ones that pass."""
    lines = []
    for label, problem in check(item):
        full = f"{item.id}/{label}"
        if problem and not known.covers(full):
            lines.append(f"{label}: {problem}")
        elif not problem and known.covers(full):
            lines.append(f"{label}: passes, but known_failures.txt lists it: remove the line")
    return lines
