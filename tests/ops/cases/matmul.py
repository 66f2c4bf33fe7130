"""Matrix products: MatMul, BatchMatMulV2, BatchMatMulV3, Einsum."""
from table import COMPLEX, FLOATS, T, case, t

SIZES = ((3, 5, 7), (1, 1, 1), (16, 16, 16), (64, 64, 64), (65, 129, 33), (1, 257, 5), (5, 1, 130), (130, 70, 1), (128, 300, 96))


def matmul(m, k, n, ta, tb, dtypes):
    a = t(k, m) if ta else t(m, k)
    b = t(n, k) if tb else t(k, n)
    tag = f"{m}x{k}x{n}{' ta' if ta else ''}{' tb' if tb else ''}"
    return case("MatMul", dtypes, {"a": a, "b": b}, {"transpose_a": ta, "transpose_b": tb}, tag=tag, special=False)


def batched(op, a, b, adj_x, adj_y, dtypes, **more):
    tag = f"{list(a)} {list(b)}{' ax' if adj_x else ''}{' ay' if adj_y else ''}"
    return case(op, dtypes, {"x": t(*a), "y": t(*b)}, {"adj_x": adj_x, "adj_y": adj_y}, tag=tag, special=False, **more)


def einsum(equation, *shapes, dtypes=FLOATS, dims=None):
    return case("Einsum", dtypes, {"inputs": [t(*s) for s in shapes]}, {"equation": equation}, tag=equation.replace("...", "_").replace("->", " to "), dims=dims, special=False)


CASES = [matmul(*s, ta, tb, FLOATS) for s in SIZES for ta in (False, True) for tb in (False, True)]
CASES += [
    matmul(6, 4, 5, False, False, ("int32", "int64")),
    matmul(9, 8, 7, True, True, COMPLEX),
    case("MatMul", FLOATS, {"a": t("M", "K"), "b": t("K", "P")}, dims={"M": (3, 0, 1), "K": (5, 0, 1), "P": (7, 0, 1)}, tag="empty", special=False),
    case("MatMul", ("float32",), {"a": t(6, 7), "b": t(7, 5)}, tag="NaN"),
    case("MatMul", ("float32", "float64", "int32", "complex64"), {"a": t(2, 70000), "b": t(70000, 3)}, tag="long sums", special=False),
    case("MatMul", ("float32",), {"a": t(1, 700000), "b": t(700000, 2)}, tag="long sums of a row", special=False),
    batched("BatchMatMulV2", (2, 3, 5), (2, 5, 4), False, False, FLOATS + ("int32", "int64") + COMPLEX),
    batched("BatchMatMulV2", (2, 5, 3), (2, 5, 4), True, False, FLOATS + COMPLEX),
    batched("BatchMatMulV2", (2, 3, 5), (2, 4, 5), False, True, FLOATS + COMPLEX),
    batched("BatchMatMulV2", (2, 5, 3), (2, 4, 5), True, True, FLOATS),
    batched("BatchMatMulV2", (4, 1, 3, 5), (2, 5, 4), False, False, FLOATS),
    batched("BatchMatMulV2", (3, 5), (6, 5, 4), False, False, ("float32",)),
    batched("BatchMatMulV2", (2, 1, 3, 5), (1, 4, 5, 2), False, False, ("float32",)),
    batched("BatchMatMulV2", (8, 4, 65, 32), (8, 4, 32, 65), False, False, ("float32", "float16", "bfloat16")),
    batched("BatchMatMulV2", ("B", 3, 5), ("B", 5, 4), False, False, ("float32", "float16"), dims={"B": (2, 0, 1, 33)}),
    case("BatchMatMulV3", ("float32", "bfloat16"), {"x": t(2, 3, 5), "y": t(2, 5, 4)}, {"Tout": T}, special=False),
    case("BatchMatMulV3", ("int8",), {"x": t(2, 3, 5), "y": t(2, 5, 4)}, {"Tout": "int32"}, tag="int8"),
    einsum("ij,jk->ik", (3, 4), (4, 5)),
    einsum("abc,cde->abde", (2, 3, 4), (4, 5, 6)),
    einsum("abc,cd->abd", (2, 3, 4), (4, 6)),
    einsum("aecd,abcd->acbe", (2, 7, 3, 5), (2, 6, 3, 5)),
    einsum("acbe,aecd->abcd", (2, 3, 6, 7), (2, 7, 3, 5)),
    einsum("abcd,cde->abe", (2, 6, 3, 5), (3, 5, 4)),
    einsum("bhqk,bhkd->bhqd", (2, 3, 5, 7), (2, 3, 7, 4)),
    einsum("...ij,...jk->...ik", (2, 3, 4), (2, 4, 5)),
    einsum("i,j->ij", (3,), (5,)),
    einsum("ij->ji", (3, 5)),
    einsum("ijk->k", (3, 5, 4)),
    einsum("ii->i", (4, 4)),
    einsum("i,i->", (17,), (17,)),
    einsum("nab,nbc->nac", ("N", 3, 4), ("N", 4, 5), dtypes=("float32",), dims={"N": 3}),
]
