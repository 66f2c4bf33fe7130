"""Element-wise ops: complex numbers, and what neither unary.py nor binary.py has."""
from table import COMPLEX, EXACT, INTS, binary, case, normal, same, t, ulps, unary

SMALL = normal(1.0)
FUNCTIONS = ("Exp", "Expm1", "Log", "Log1p", "Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Tanh", "Asinh", "Acosh",
             "Atanh", "Sqrt", "Rsqrt", "Sigmoid", "Reciprocal", "Sign")
CASES = [unary(op, COMPLEX, dist=SMALL, special=False, tag="complex") for op in FUNCTIONS] + [
    binary("Pow", COMPLEX, dist=SMALL, special=False, tol=ulps(32), tag="complex"),
    unary("Angle", COMPLEX, arg="input", special=False),
    unary("PopulationCount", INTS, tol=EXACT),
    same("ApproximateEqual", ("float32", "float64"), ("x", "y"), {"tolerance": 0.5}, special=False),
    case("Bucketize", ("int32", "int64", "float32", "float64"), {"input": t(4, 9, dist=normal(10.0))},
         {"boundaries": [-10.0, -0.5, 0.0, 0.0, 3.0, 11.0]}, tol=EXACT),
]
