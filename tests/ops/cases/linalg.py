"""Linear algebra on batches of matrices. Matrices are kept well-conditioned, since a factorisation amplifies rounding."""
import numpy as np

from table import Tol, case, const, t, uniform

DOUBLES = ("float32", "float64")
COMPLEX = ("complex64", "complex128")
NUMBERS = DOUBLES + COMPLEX
NEAR = Tol("norm", 1e-10, 2e-4)
SQUARES = (1, 2, 3, 7, 33, 130)


def spread(n, batch=(), seed=0):
    """Dominated by its diagonal, in no order."""
    a = np.random.default_rng(seed).normal(size=(*batch, n, n)) + 3 * np.sqrt(n) * np.eye(n)[np.random.default_rng(seed + 1).permutation(n)]
    return a.tolist()


def positive(n, batch=()):
    a = np.random.default_rng(n).normal(size=(*batch, n, n))
    return (a @ np.swapaxes(a, -1, -2) / n + np.eye(n)).tolist()


def rows():
    for shape in ((5, 3), (3, 5), (4, 4), (2, 6, 4), (1, 1), (70, 40), (40, 200), (3, 0)):
        for full in (False, True):
            yield case("Qr", NUMBERS, {"input": t(*shape)}, {"full_matrices": full}, tol=NEAR, tag=f"{shape} {full}", special=False)
    yield case("Qr", NUMBERS, {"input": const([[0.0, 1.0], [0.0, 2.0], [0.0, 0.0]], None)}, {"full_matrices": False}, tol=NEAR, tag="zero column")


def large():
    """Beyond what one launch may loop on a software driver (`ops/loops.rs`)."""
    yield case("Qr", NUMBERS, {"input": t(210, 200)}, {"full_matrices": False}, tol=NEAR, tag="large", special=False)
    a, n = const(spread(330), None), 330
    yield case("MatrixInverse", ("float64",), {"input": a}, tol=NEAR, tag="large")
    yield case("Lu", ("float32",), {"input": a}, {"output_idx_type": "int32"}, tol=NEAR, tag="large")
    yield case("LogMatrixDeterminant", ("float64",), {"input": const(spread(400), None)}, tol=NEAR, tag="large")
    yield case("Cholesky", ("float64",), {"input": const(positive(400), None)}, tol=NEAR, tag="large")
    yield case("MatrixSolve", ("float64",), {"matrix": a, "rhs": t(n, 200)}, tol=NEAR, tag="large", special=False)


def squares():
    for n in SQUARES:
        a = const(spread(n), None)
        yield case("MatrixInverse", NUMBERS, {"input": a}, {"adjoint": n % 2 == 0}, tol=NEAR, tag=str(n))
        yield case("MatrixSolve", NUMBERS, {"matrix": a, "rhs": t(n, 4)}, {"adjoint": n % 2 == 0}, tol=NEAR, tag=str(n), special=False)
        yield case("Lu", NUMBERS, {"input": a}, {"output_idx_type": "int32"}, tol=NEAR, tag=str(n))
        yield case("Cholesky", NUMBERS, {"input": const(positive(n), None)}, tol=NEAR, tag=str(n))
        yield case("LogMatrixDeterminant", NUMBERS, {"input": a}, tol=NEAR, tag=str(n))
        for lower in (False, True):
            for adjoint in (False, True):
                inputs = {"matrix": const((np.asarray(spread(n)) * 0.1 + 2 * np.eye(n)).tolist(), None), "rhs": t(n, 3)}
                yield case("MatrixTriangularSolve", NUMBERS, inputs, {"lower": lower, "adjoint": adjoint}, tol=NEAR, tag=f"{n} {lower} {adjoint}", special=False)
        if n < 8:
            yield case("MatrixDeterminant", NUMBERS, {"input": a}, tol=NEAR, tag=str(n))
    batch = const(spread(4, (2, 3)), None)
    yield case("MatrixInverse", NUMBERS, {"input": batch}, tol=NEAR, tag="batch")
    yield case("MatrixDeterminant", NUMBERS, {"input": batch}, tol=NEAR, tag="batch")
    yield case("MatrixSolve", NUMBERS, {"matrix": batch, "rhs": t(2, 3, 4, 1)}, tol=NEAR, tag="batch", special=False)
    yield case("Cholesky", NUMBERS, {"input": const(positive(5, (3,)), None)}, tol=NEAR, tag="batch")
    yield case("MatrixTriangularSolve", NUMBERS, {"matrix": t(3, 4, 4, dist=uniform(0.5, 1.5)), "rhs": t(2, 1, 4, 2)}, {"lower": True, "adjoint": False}, tol=NEAR, tag="broadcast", special=False)


def spectra():
    """Vectors have open signs: the ops crate's own tests look at them."""
    for shape in ((1, 1), (2, 2), (2, 7, 7), (3, 5, 5), (40, 40), (0, 0)):
        for vectors in (False, True):
            yield case("SelfAdjointEigV2", DOUBLES + COMPLEX, {"input": t(*shape)}, {"compute_v": vectors}, tol=NEAR, tag=f"{shape} {vectors}", special=False, outputs=(0,))
    for shape in ((1, 1), (2, 7, 4), (2, 4, 7), (9, 9), (40, 12), (3, 90), (2, 3, 5, 2), (0, 3)):
        for vectors in (False, True):
            for full in (False, True):
                yield case("Svd", DOUBLES, {"input": t(*shape)}, {"compute_uv": vectors, "full_matrices": full}, tol=NEAR, tag=f"{shape} {vectors} {full}", special=False, outputs=(0,))
    graded = const((np.random.default_rng(5).normal(size=(12, 8)) @ np.diag(10.0 ** -np.arange(8))).tolist(), None)
    yield case("Svd", DOUBLES, {"input": graded}, {"compute_uv": True, "full_matrices": False}, tol=NEAR, tag="graded", outputs=(0,))
    huge = const((np.random.default_rng(6).normal(size=(6, 6)) * 1e25).tolist(), None)
    yield case("Svd", DOUBLES, {"input": huge}, {"compute_uv": True, "full_matrices": True}, tol=NEAR, tag="huge", outputs=(0,))
    yield case("SelfAdjointEigV2", DOUBLES, {"input": huge}, {"compute_v": True}, tol=NEAR, tag="huge", outputs=(0,))


def tridiagonal():
    for batch, n, k in (((), 1, 1), ((), 2, 3), ((2, 3), 7, 2), ((), 200, 1), ((4,), 33, 5), ((), 3, 0)):
        one = t(*batch, 1, n)
        inputs = {"superdiag": one, "maindiag": one, "subdiag": one, "rhs": t(*batch, n, k)}
        yield case("TridiagonalMatMul", DOUBLES + COMPLEX, inputs, tol=NEAR, tag=f"{batch} {n} {k}", special=False)
        for pivoting in (False, True):
            r = np.random.default_rng(n)
            # Without exchanges the main diagonal has to dominate.
            d = r.normal(size=(*batch, 3, n)) + (0 if pivoting else 4) * np.array([[0], [1], [0]])
            inputs = {"diagonals": const(d.tolist(), None), "rhs": t(*batch, n, k)}
            yield case("TridiagonalSolve", DOUBLES + COMPLEX, inputs, {"partial_pivoting": pivoting}, tol=Tol("norm", 1e-9, 2e-3), tag=f"{batch} {n} {k} {pivoting}", special=False)
    zero = {"diagonals": const(np.zeros((3, 4)).tolist(), None), "rhs": t(4, 2)}
    yield case("TridiagonalSolve", DOUBLES, zero, {"partial_pivoting": True}, tag="singular", special=False)
    exchanged = {"diagonals": const([[1, 2, 3, 0], [0, 0, 0, 0], [0, 4, 5, 6]], None), "rhs": t(4, 2)}
    yield case("TridiagonalSolve", DOUBLES, exchanged, {"partial_pivoting": True}, tol=NEAR, tag="exchanged", special=False)
    for tag, diagonals, rhs in (("rows", (2, 4), (4, 2)), ("length", (3, 4), (5, 2)), ("batch", (2, 3, 4), (4, 2))):
        yield case("TridiagonalSolve", DOUBLES[:1], {"diagonals": t(*diagonals), "rhs": t(*rhs)}, special=False, tag=tag, refused=True)


def complexes():
    """Matrices whose imaginary parts are not zero."""
    r = np.random.default_rng(11)
    for n in (1, 2, 5, 33):
        a = r.normal(size=(2, n, n)) + 1j * r.normal(size=(2, n, n)) + 3 * np.sqrt(n) * np.exp(1j * r.uniform(0, 6, (2, n, 1))) * np.eye(n)[r.permutation(n)]
        literal, rhs = const(a.tolist(), None), t(2, n, 3)
        for adjoint in (False, True):
            yield case("MatrixInverse", COMPLEX, {"input": literal}, {"adjoint": adjoint}, tol=NEAR, tag=f"complex {n} {adjoint}")
            yield case("MatrixSolve", COMPLEX, {"matrix": literal, "rhs": rhs}, {"adjoint": adjoint}, tol=NEAR, tag=f"complex {n} {adjoint}", special=False)
            for lower in (False, True):
                inputs = {"matrix": const((a * 0.1 + 2 * np.eye(n)).tolist(), None), "rhs": rhs}
                yield case("MatrixTriangularSolve", COMPLEX, inputs, {"lower": lower, "adjoint": adjoint}, tol=NEAR, tag=f"complex {n} {lower} {adjoint}", special=False)
        yield case("Lu", COMPLEX, {"input": literal}, {"output_idx_type": "int32"}, tol=NEAR, tag=f"complex {n}")
        yield case("LogMatrixDeterminant", COMPLEX, {"input": literal}, tol=NEAR, tag=f"complex {n}")
        yield case("Cholesky", COMPLEX, {"input": const((a @ np.conj(np.swapaxes(a, -1, -2)) / n + np.eye(n)).tolist(), None)}, tol=NEAR, tag=f"complex {n}")
        if n < 8:
            yield case("MatrixDeterminant", COMPLEX, {"input": literal}, tol=NEAR, tag=f"complex {n}")
    for shape in ((5, 3), (3, 5), (2, 4, 4), (1, 1), (40, 17)):
        z = const((r.normal(size=shape) + 1j * r.normal(size=shape)).tolist(), None)
        for full in (False, True):
            yield case("Qr", COMPLEX, {"input": z}, {"full_matrices": full}, tol=NEAR, tag=f"complex {shape} {full}")


CASES = [*complexes(), *rows(), *squares(), *large(), *spectra(), *tridiagonal()]
