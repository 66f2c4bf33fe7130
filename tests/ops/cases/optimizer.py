"""Optimiser updates and variable arithmetic. Every variable's value after the op is compared."""
from table import EXACT, FLOATS, case, const, normal, t, uniform, var

POSITIVE = uniform(0.1, 2.0)
NAMES = {"alpha": 0.05, "lr": 0.05, "rho": 0.9, "momentum": 0.8, "epsilon": 0.01, "l1": 0.02, "l2": 0.1, "l2_shrinkage": 0.3, "lr_power": -0.5,
         "beta1": 0.9, "beta2": 0.99, "beta1_power": 0.7, "beta2_power": 0.9, "beta": 0.9, "logbase": 1.1, "sign_decay": 0.8}
SQUARES = ("accum", "accum_update", "v", "vhat", "ms", "gradient_squared_accumulator")
# Op, variables, gradient's name, scalars, attribute.
DENSE = (
    ("GradientDescent", ("var",), "delta", ("alpha",), None),
    ("Momentum", ("var", "accum"), "grad", ("lr", "momentum"), "use_nesterov"),
    ("KerasMomentum", ("var", "accum"), "grad", ("lr", "momentum"), "use_nesterov"),
    ("Adam", ("var", "m", "v"), "grad", ("beta1_power", "beta2_power", "lr", "beta1", "beta2", "epsilon"), "use_nesterov"),
    ("AdamWithAmsgrad", ("var", "m", "v", "vhat"), "grad", ("beta1_power", "beta2_power", "lr", "beta1", "beta2", "epsilon"), None),
    ("AdaMax", ("var", "m", "v"), "grad", ("beta1_power", "lr", "beta1", "beta2", "epsilon"), None),
    ("Adagrad", ("var", "accum"), "grad", ("lr",), "update_slots"),
    ("AdagradV2", ("var", "accum"), "grad", ("lr", "epsilon"), "update_slots"),
    ("Adadelta", ("var", "accum", "accum_update"), "grad", ("lr", "rho", "epsilon"), None),
    ("RMSProp", ("var", "ms", "mom"), "grad", ("lr", "rho", "momentum", "epsilon"), None),
    ("CenteredRMSProp", ("var", "mg", "ms", "mom"), "grad", ("lr", "rho", "momentum", "epsilon"), None),
    ("Ftrl", ("var", "accum", "linear"), "grad", ("lr", "l1", "l2", "lr_power"), "multiply_linear_by_lr"),
    ("FtrlV2", ("var", "accum", "linear"), "grad", ("lr", "l1", "l2", "l2_shrinkage", "lr_power"), "multiply_linear_by_lr"),
    ("ProximalGradientDescent", ("var",), "delta", ("alpha", "l1", "l2"), None),
    ("ProximalAdagrad", ("var", "accum"), "grad", ("lr", "l1", "l2"), None),
    ("AddSign", ("var", "m"), "grad", ("lr", "alpha", "sign_decay", "beta"), None),
    ("PowerSign", ("var", "m"), "grad", ("lr", "logbase", "sign_decay", "beta"), None),
)
DOUBLE_ONLY = ("ProximalGradientDescent", "ProximalAdagrad", "AdagradDA")
NO_BF16 = ("AdaMax",)
SPARSE = ("Adadelta", "Adagrad", "AdagradV2", "CenteredRMSProp", "Ftrl", "FtrlV2", "KerasMomentum", "Momentum", "ProximalAdagrad", "ProximalGradientDescent", "RMSProp")
NO_SPARSE_BF16 = ("RMSProp", "CenteredRMSProp")


def variables(names, *shape):
    # mg squared stays below ms, or the centred RMSProp takes the root of a negative number.
    dist = lambda n: POSITIVE if n in SQUARES else uniform(-0.2, 0.2) if n == "mg" else normal()
    return {n: var(t(*shape, dist=dist(n), special=False)) for n in names}


def scalars(names, **other):
    return {n: const({**NAMES, **other}[n], None) for n in names}


def dtypes(op, sparse=False):
    if op in DOUBLE_ONLY:
        return ("float32", "float64")
    return tuple(d for d in FLOATS if d != "bfloat16" or op not in NO_BF16 + (NO_SPARSE_BF16 if sparse else ()))


def dense():
    for op, names, grad, numbers, flag in DENSE:
        for value in (False, True) if flag else (None,):
            attrs = {flag: value} if flag else {}
            inputs = {**variables(names, "N", 7), **scalars(numbers), grad: t("N", 7)}
            yield case(f"ResourceApply{op}", dtypes(op), inputs, attrs, dims={"N": 5}, special=False, tag="" if value is None else f"{flag} {value}")
    for op, names, grad, numbers, flag in DENSE:
        if "lr_power" in numbers:
            inputs = {**variables(names, 33), **scalars(numbers, lr_power=-0.7), grad: t(33)}
            yield case(f"ResourceApply{op}", ("float32", "float64"), inputs, special=False, tag="power")
        if "l1" in numbers:
            inputs = {**variables(names, 33), **scalars(numbers, l1=0.0), grad: t(33)}
            yield case(f"ResourceApply{op}", ("float32", "float64"), inputs, special=False, tag="no l1")
    names = ("var", "gradient_accumulator", "gradient_squared_accumulator")
    for l1 in (0.0, 0.02):
        inputs = {**variables(names, 33), "grad": t(33), **scalars(("lr", "l1", "l2"), l1=l1), "global_step": const(5, "int64")}
        yield case("ResourceApplyAdagradDA", ("float32", "float64"), inputs, special=False, tag=f"l1 {l1}")


def sparse():
    # Repeated indices, in no order; some rows are never touched.
    indices = ([2, 0, 2, 5, 2, 0], [1], [], [4] * 300 + [3, 4] * 40)
    for op, names, _, numbers, flag in DENSE:
        if op not in SPARSE:
            continue
        for i, rows in enumerate(indices):
            if i == 3 and op.startswith("Adagrad"):
                continue  # the CPU's kernel lets its threads race for a row
            for columns in (1, 5) if i == 0 else (3,) if i < 3 else (130,):
                value = None if flag is None else i % 2 == 0
                kind = "int64" if i % 2 else "int32"
                inputs = {**variables(names, 6, columns), **scalars(numbers), "grad": t(len(rows), columns, dist=normal(0.1)), "indices": const(rows, kind)}
                attrs = {} if flag is None else {flag: value}
                few = dtypes(op, True) if i == 0 else ("float32",)
                yield case(f"ResourceSparseApply{op}", few, inputs, attrs, tag=f"{i} {columns} {value}", special=False)
    names = ("var", "gradient_accumulator", "gradient_squared_accumulator")
    for l1 in (0.0, 0.02):
        inputs = {**variables(names, 6, 5), "grad": t(4, 5), "indices": const([2, 0, 2, 5]), **scalars(("lr", "l1", "l2"), l1=l1), "global_step": const(5, "int64")}
        yield case("ResourceSparseApplyAdagradDA", ("float32", "float64"), inputs, special=False, tag=f"l1 {l1}")


CASES = [
    *dense(),
    *sparse(),
    *[
        case(op, FLOATS + ("int64", "complex64"), {"resource": var(t("N", 3)), "value": t("N", 3)}, tol=EXACT, dims={"N": 5})
        for op in ("AssignAddVariableOp", "AssignSubVariableOp")
    ],
    case("AssignAddVariableOp", ("float32",), {"resource": var(t(2, 3)), "value": t(3)}, tag="shape", refused=True),
]
