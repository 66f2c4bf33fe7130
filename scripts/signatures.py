"""Writes crates/ops/src/signatures.txt: the signatures of the ops that the registry serves, from TensorFlow's own OpDefs.

    cargo run -q -p tfvk-ops --example list_ops | python scripts/signatures.py > crates/ops/src/signatures.txt

One op a line: `Op|input:type ...|output:type ...|attr:kind=default ...`, where a type is a TF_DataType's name or an attribute
(`T`), `N*T` is a list of N of them, `[Ts]` a list with the types of a type-list attribute, and `&` marks a reference.
"""
import sys

import tensorflow as tf
from tensorflow.core.framework import op_def_pb2
from tensorflow.python.client import pywrap_tf_session as session


def arg(a):
    kind = a.type_attr or ("[%s]" % a.type_list_attr if a.type_list_attr else tf.dtypes.as_dtype(a.type).name)
    return "%s:%s%s%s" % (a.name, "&" if a.is_ref else "", a.number_attr + "*" if a.number_attr else "", kind)


def value(v):
    which = v.WhichOneof("value")
    if which == "type":
        return tf.dtypes.as_dtype(v.type).name
    if which in ("i", "f", "b"):
        return repr(getattr(v, which)).lower()
    if which == "s":
        return v.s.decode()
    if which == "list":
        items = [*v.list.i, *(repr(f) for f in v.list.f), *(s.decode() for s in v.list.s), *(tf.dtypes.as_dtype(t).name for t in v.list.type)]
        return "[%s]" % ",".join(map(str, items))
    return "?"


def attr(a):
    return "%s:%s%s" % (a.name, a.type.replace(" ", ""), "=" + value(a.default_value) if a.HasField("default_value") else "")


def main():
    ops = op_def_pb2.OpList()
    ops.ParseFromString(session.TF_GetBuffer(session.TF_GetAllOpList()))
    wanted = set(sys.stdin.read().split())
    for op in sorted((o for o in ops.op if o.name in wanted), key=lambda o: o.name):
        args = [" ".join(map(arg, op.input_arg)), " ".join(map(arg, op.output_arg)), " ".join(map(attr, op.attr))]
        print("|".join([op.name] + args))


main()
