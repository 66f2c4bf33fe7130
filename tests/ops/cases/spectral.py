"""Fourier transforms of every kind of length: powers of two, other small primes, large primes, several passes through memory.
The second reference is numpy's, in float64. BatchFFT and its kin are the same kernels, in graphs older than TensorFlow 1.0 alone."""
import numpy as np

from table import Tol, case, const, t

NEAR = Tol("norm", 1e-14, 2e-6)
# One pass; mixed radices; large primes; two passes; three where shared memory is small.
LENGTHS = (1, 2, 3, 4, 5, 7, 16, 30, 64, 105, 243, 1000, 1024, 2401, 11, 97, 121, 1009, 6000, 65536)
WIDE = (3001, 1 << 18, 3**12, 1 << 20)
C, R = ("complex64", "complex128"), ("float32", "float64")
PAIR = {"float32": "complex64", "float64": "complex128", "complex64": "float32", "complex128": "float64"}


def complex_(f):
    return lambda input: f(np.asarray(input, np.complex128))


def inner(rank):
    return tuple(range(-rank, 0))


def plain():
    for n in LENGTHS:
        batch = 3 if n < 5000 else 1
        for op, f in (("FFT", np.fft.fft), ("IFFT", np.fft.ifft)):
            yield case(op, C, {"input": t(batch, n)}, tol=NEAR, special=False, tag=str(n), ref=complex_(f))
    for n in WIDE:
        yield case("FFT", C[:1], {"input": t(n)}, tol=NEAR, special=False, tag=str(n), ref=complex_(np.fft.fft))
    for op in ("FFT", "IFFT"):
        yield case(op, C, {"input": t("B", 2, 64)}, tol=NEAR, dims={"B": (37, 0, 1)}, special=False, tag="batch")
        yield case(op, C, {"input": t(4, 0)}, special=False, tag="empty")


def several():
    shapes = {2: ((8, 8), (3, 5, 7), (2, 33, 64), (2, 128, 11), (1, 1), (64, 3), (2, 1024, 8), (13, 17), (2048, 2), (2, 0, 3)), 3: ((4, 4, 4), (2, 3, 4, 5), (7, 1, 16), (2, 13, 5, 11), (16, 32, 8))}
    for rank, list_ in shapes.items():
        for shape in list_:
            for op, f in ((f"FFT{rank}D", np.fft.fftn), (f"IFFT{rank}D", np.fft.ifftn)):
                ref = complex_(lambda x, f=f, rank=rank: f(x, axes=inner(rank)))
                yield case(op, C, {"input": t(*shape)}, tol=NEAR, special=False, tag=str(shape), ref=ref)


def real(dtypes, op, shape, length, tag):
    """One case a dtype, since the other type is an attribute: RFFT* and IRFFT* of the innermost axes."""
    rank, back = len(length), op.startswith("I")
    f = np.fft.irfftn if back else np.fft.rfftn

    def ref(input, fft_length):
        x = np.asarray(input, np.complex128 if back else np.float64)
        return f(x, [int(n) for n in fft_length], axes=inner(rank))

    for d in dtypes:
        attr = {"Treal" if back else "Tcomplex": PAIR[d]}
        yield case(op, (d,), {"input": t(*shape), "fft_length": const(list(length))}, attr, tol=NEAR, special=False, tag=f"{tag} {d}", ref=ref)


def reals():
    for n in LENGTHS:
        batch = 3 if n < 5000 else 1
        yield from real(R, "RFFT", (batch, n), (n,), n)
        yield from real(C, "IRFFT", (batch, n // 2 + 1), (n,), n)
    for n in WIDE:
        yield from real(R[:1], "RFFT", (n,), (n,), n)
        yield from real(C[:1], "IRFFT", (n // 2 + 1,), (n,), n)
    # What is given and not wanted is cut off.
    for n in (1, 2, 7, 8, 11, 16):
        yield from real(R, "RFFT", (2, 20), (n,), f"of 20, {n}")
        yield from real(C, "IRFFT", (2, 20), (n,), f"of 20, {n}")
    for shape, length in (((2, 8, 8), (8, 8)), ((5, 9), (4, 6)), ((3, 13, 22), (11, 13)), ((1024, 6), (1024, 6)), ((4, 2048), (3, 2000))):
        half = (*shape[:-1], shape[-1] // 2 + 1)
        yield from real(R, "RFFT2D", shape, length, f"{shape} {length}")
        yield from real(C, "IRFFT2D", half, length, f"{shape} {length}")
    for shape, length in (((2, 4, 6, 8), (4, 6, 8)), ((5, 6, 7), (3, 5, 6)), ((3, 11, 4, 26), (11, 3, 13))):
        half = (*shape[:-1], shape[-1] // 2 + 1)
        yield from real(R, "RFFT3D", shape, length, f"{shape} {length}")
        yield from real(C, "IRFFT3D", half, length, f"{shape} {length}")


def over_axes():
    for shape, length, axes in (((3, 8, 10), (8, 10), (1, 2)), ((3, 8, 10), (5, 16), (-2, -1)), ((3, 4, 5, 6), (3, 4, 5, 6), (0, 1, 2, 3)), ((4, 9, 3), (4, 9), (0, 1)), ((13, 5), (13,), (0,))):
        inputs = {"input": t(*shape), "fft_length": const(list(length)), "axes": const(list(axes))}
        for op, f in (("FFTND", np.fft.fftn), ("IFFTND", np.fft.ifftn)):
            ref = lambda input, fft_length, axes, f=f: f(np.asarray(input, np.complex128), [int(n) for n in fft_length], [int(a) for a in axes])
            yield case(op, C, inputs, tol=NEAR, special=False, tag=f"{shape} {length} {axes}", ref=ref)
        if all(n <= shape[a] for n, a in zip(length, axes)):
            for op, f, dtypes in (("RFFTND", np.fft.rfftn, R), ("IRFFTND", np.fft.irfftn, C)):
                ref = lambda input, fft_length, axes, f=f: f(np.asarray(input), [int(n) for n in fft_length], [int(a) for a in axes])
                for d in dtypes:
                    attr = {"Treal" if op[0] == "I" else "Tcomplex": PAIR[d]}
                    yield case(op, (d,), inputs, attr, tol=NEAR, special=False, tag=f"{shape} {length} {axes} {d}", ref=ref)


def refused():
    yield case("RFFT", R[:1], {"input": t(3, 5), "fft_length": const([6])}, special=False, tag="too short", refused=True)
    yield case("IRFFT", C[:1], {"input": t(3, 5), "fft_length": const([10])}, special=False, tag="too short", refused=True)
    yield case("RFFT2D", R[:1], {"input": t(3, 5), "fft_length": const([5])}, special=False, tag="one length", refused=True)
    yield case("FFT2D", C[:1], {"input": t(5)}, special=False, tag="rank", refused=True)
    yield case("RFFT", R[:1], {"input": t(3, 5), "fft_length": const([-1])}, special=False, tag="negative", refused=True)


CASES = [*plain(), *several(), *reals(), *over_axes(), *refused()]
