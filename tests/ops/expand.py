"""Turns a case and a dtype into variants with concrete numpy inputs: the case as written, edge shapes, edge values.

A variant's inputs map an argument to a `Given`, or to a list of them. Knows the case language and `values.py`;
runs nothing.
"""
from dataclasses import dataclass

import numpy as np

import values
from table import Spec, T


@dataclass
class Given:
    """One concrete input."""

    array: np.ndarray
    dtype: str
    variable: bool


@dataclass
class Variant:
    """One run of the op: `label` says which edge it is."""

    label: str
    inputs: dict
    attrs: dict


def specs(case):
    """(argument, position or None, Spec) of every input tensor."""
    for name, s in case.inputs.items():
        for i, one in enumerate(s) if isinstance(s, (list, tuple)) else ((None, s),):
            yield name, i, one


def dim_choices(case):
    """The sizes of every named dimension: the main ones first, then each edge with the others at their main size."""
    lists = {k: (v if isinstance(v, (tuple, list)) else (v, 0, 1, 2 * v + 1)) for k, v in case.dims.items()}
    main = {k: v[0] for k, v in lists.items()}
    yield "", main
    for k, v in lists.items():
        for edge in v[1:]:
            yield f"{k}={edge}", {**main, k: edge}


def resolve(shape, shapes, dims):
    if isinstance(shape, str):
        shape = shapes[shape]
    return tuple(dims[d] if isinstance(d, str) else d for d in shape)


def expand(case, dtype, first):
    """All variants. `first`: this is the case's first dtype, which gets every edge shape; the others get some."""
    attrs = {k: (dtype if v == T else v) for k, v in case.attrs.items()}
    shape_list = list(enumerate(case.shapes))
    if not first and len(shape_list) > 5:
        shape_list = shape_list[:4] + [shape_list[-1]]
    for i, shapes in shape_list:
        for label, dims in dim_choices(case):
            text = ",".join(([f"{k}={list(v)}" for k, v in shapes.items()] if i else []) + ([label] if label else []))
            yield Variant(text or "main", give(case, dtype, shapes, dims, text, None), attrs)
    if case.special and any(s.special and s.literal is None for _, _, s in specs(case)):
        shapes, dims = case.shapes[0], next(dim_choices(case))[1]
        wild = case.special is True
        yield Variant("special", give(case, dtype, shapes, dims, "special", wild), attrs)


def give(case, dtype, shapes, dims, label, wild):
    """Draws every input. `wild` None: ordinary values; True or False: edge values with or without infinities and NaN."""
    flat = []
    whole = [isinstance(s.shape, str) for _, _, s in specs(case)]
    elementwise = wild is not None and all(whole)
    rng = values.generator(case.op, case.tag, dtype, label)
    for name, i, s in specs(case):
        d = s.dtype or dtype
        if s.literal is not None:
            array = np.asarray(s.literal, values.np_dtype(d))
        elif elementwise:
            use = s.special
            array = values.edge_values(d, s.dist, wild) if use else values.draw(s, d, (16,), rng)
        else:
            array = values.draw(s, d, resolve(s.shape, shapes, dims), rng)
            if wild is not None and s.special and s.dtype is None:
                array = values.sprinkle(array, d, s.dist, wild, rng)
        flat.append([name, i, s, d, array])
    if elementwise:
        columns = values.cross([f[4] for f in flat], rng)
        for f, c in zip(flat, columns):
            f[4] = c
    out = {}
    for name, i, s, d, array in flat:
        g = Given(array, d, s.variable)
        if i is None:
            out[name] = g
        else:
            out.setdefault(name, []).append(g)
    for name, s in case.inputs.items():
        if isinstance(s, (list, tuple)) and not s:
            out[name] = []
    return out


__all__ = ["Given", "Spec", "Variant", "expand"]
