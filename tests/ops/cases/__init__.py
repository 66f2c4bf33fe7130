"""The op case table: one module a family, each with a list `CASES`. A new file here is found by itself."""
import importlib
import pkgutil


def families():
    """(family, its cases), in alphabetical order."""
    for info in sorted(pkgutil.iter_modules(__path__), key=lambda m: m.name):
        yield info.name, importlib.import_module(f"{__name__}.{info.name}").CASES
