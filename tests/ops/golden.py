"""Writes a small part of the table with the answers of TensorFlow's CPU to `tests/golden/<family>.json`, from which the
ops crate's tests replay it without TensorFlow: `python tests/ops/golden.py [FAMILY...]`.

A file is {"family", "cases": [...]}; a case has "id", "op", "attrs" (every attribute of the node, defaults included),
"inputs" in the order of the op's definition, a list argument one after the other, "outputs", and "tolerance"
{"kind", "bound"}. A tensor is {"dtype", "shape", "data"}: little-endian bytes in base64. An attribute is {"type": "DT_FLOAT"},
{"i"}, {"f"}, {"b"}, {"s"}, {"shape"} or {"list": [...]} of them.
"""
import base64
import json
import os
import sys
from pathlib import Path

os.environ["TFVK_TEST_DEVICE"] = "/device:CPU:0"
os.environ["TFVK_VISIBLE_DEVICES"] = "-1"

import numpy as np

import cases
import compare
import harness
from expand import expand
from harness import tf

OUT = Path(__file__).resolve().parents[1] / "golden"
MOST_BYTES = 120_000  # of a file
MOST_CASE = 6_000  # bytes of data of one case


def tensor(array, dtype=None):
    data = np.asarray(array, order="C")  # ascontiguousarray would make a vector of a scalar
    return {"dtype": dtype or data.dtype.name, "shape": list(data.shape), "data": base64.b64encode(data.tobytes()).decode()}


def attribute(value):
    """A protobuf AttrValue as JSON."""
    kind = value.WhichOneof("value")
    if kind == "type":
        return {"type": tf.dtypes.as_dtype(value.type).name}
    if kind == "s":
        return {"s": value.s.decode()}
    if kind == "shape":
        return {"shape": [d.size for d in value.shape.dim]}
    if kind == "list":
        field = next((f for f in ("i", "f", "b", "s", "type", "shape") if len(getattr(value.list, f))), None)
        one = {"s": lambda v: {"s": v.decode()}, "type": lambda v: {"type": tf.dtypes.as_dtype(v).name}, "shape": lambda v: {"shape": [d.size for d in v.dim]}}
        return {"list": [one.get(field, lambda v: {field: v})(v) for v in getattr(value.list, field)] if field else []}
    return {kind: getattr(value, kind)}


def node(case, variant):
    """The node's attributes and its inputs in order, from a graph that holds the op alone."""
    graph, order = tf.Graph(), []
    with graph.as_default():

        def place(given):
            if isinstance(given, list):
                return [place(g) for g in given]
            order.append((tf.compat.v1.placeholder(given.dtype, given.array.shape), given))
            return order[-1][0]

        args = {k: place(v) for k, v in variant.inputs.items()}
        attrs = {k: tf.dtypes.as_dtype(v) if k in harness.TYPE_NAMES else v for k, v in variant.attrs.items()}
        before = set(graph.get_operations())
        getattr(tf.raw_ops, case.op)(**args, **attrs)
    (made,) = [o for o in graph.get_operations() if o not in before and o.type == case.op]
    by_name = {p.op.name: given for p, given in order}
    inputs = [by_name[i.op.name] for i in made.inputs]
    return {k: attribute(v) for k, v in made.node_def.attr.items() if not k.startswith("_")}, inputs


PARTS = {"float32": "complex64", "float64": "complex128"}


def as_precise_as(dtype, is_complex):
    """The element type of an output that only the reference gives: the one under test, complex where the output is."""
    real = {v: k for k, v in PARTS.items()}.get(dtype, dtype)
    return tf.dtypes.as_dtype(PARTS[real] if is_complex else real).as_numpy_dtype


def golden(item, variant):
    """The JSON of one variant, or None when it is not for replay: variables, streams, an error, too large."""
    if item.case.via != "eager" or item.case.refused or item.case.outputs or any(g.variable for v in variant.inputs.values() for g in (v if isinstance(v, list) else [v])):
        return None
    run = harness.Run(item.case, variant, harness.CPU)
    out = run.outputs()
    precise = harness.precise(item.case, variant) if item.case.tol.kind != "exact" else []
    if out is None and item.case.ref and harness.absent(run.error):
        out = [o if o.dtype == np.int8 else o.astype(as_precise_as(item.dtype, np.iscomplexobj(o))) for o in precise]
    if not out:
        return None
    tolerance = item.case.tol
    # In half precision the CPU may itself be off: the op in float64 is the better answer.
    # And so is the case's own reference where the CPU misses it.
    for i, o in enumerate(precise):
        kind = out[i].dtype.name
        missed = item.case.ref and kind in compare.TINY and compare.difference(out[i], o.astype(out[i].dtype), kind, tolerance)
        if kind in ("float16", "bfloat16") or missed:
            out[i] = o.astype(out[i].dtype)
    try:
        attrs, inputs = node(item.case, variant)
    except ValueError:  # shape inference refuses what the kernel accepts
        return None
    if sum(g.array.nbytes for g in inputs) + sum(o.nbytes for o in out) > MOST_CASE:
        return None
    bound = max((tolerance.bound(o.dtype.name) for o in out if o.dtype.name in compare.TINY), default=0.0)
    return {
        "id": f"{item.id}/{variant.label}",
        "op": item.case.op,
        "attrs": attrs,
        "inputs": [tensor(g.array, g.dtype) for g in inputs],
        "outputs": [tensor(o) for o in out],
        "tolerance": {"kind": tolerance.kind if bound else "exact", "bound": bound},
    }


def variants(case, dtype, first):
    """The main variant and the edge values; of the first dtype also the last edge shape."""
    every = list(expand(case, dtype, first))
    chosen = [v for v in every if v.label in ("main", "special")]
    if first:
        chosen += [v for v in every if v.label not in ("main", "special")][-1:]
    return chosen


def main(names):
    OUT.mkdir(exist_ok=True)
    for family, table in cases.families():
        if names and family not in names:
            continue
        found = []
        for case in table:
            for dtype in case.dtypes:
                item = harness.Item(family, case, dtype, dtype == case.dtypes[0])
                # Every dtype's main variant; edges of the first dtype alone.
                chosen = variants(case, dtype, True) if item.first else variants(case, dtype, False)[:1]
                found += [(not item.first, g) for v in chosen if (g := golden(item, v))]
        # What does not fit is thinned evenly, first dtypes last.
        texts = [(later, json.dumps(g, separators=(",", ":"))) for later, g in found]
        for later_ones in (True, False):
            size = sum(len(t) + 2 for _, t in texts)
            if size > MOST_BYTES:
                group = [i for i, (later, _) in enumerate(texts) if later == later_ones]
                spare = size - MOST_BYTES
                weight = sum(len(texts[i][1]) + 2 for i in group)
                keep_share = max(0.0, 1 - spare / max(weight, 1)) * 0.95
                kept = {i for n, i in enumerate(group) if int((n + 1) * keep_share) > int(n * keep_share)}
                texts = [t for i, t in enumerate(texts) if i not in group or i in kept]
        if not texts:
            continue
        body = ",\n".join(t for _, t in texts)
        (OUT / f"{family}.json").write_text(f'{{"family":"{family}","cases":[\n{body}\n]}}\n')
        print(f"{family}: {len(texts)} of {len(found)} cases, {(OUT / f'{family}.json').stat().st_size} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
