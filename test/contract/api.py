"""Prints, as JSON, what the Python package offers: the functions, classes and methods of each public
module, with the names and defaults of their arguments."""

import ast
import json
import sys
from pathlib import Path


def is_public(name):
    return not name.startswith("_") or name == "__init__"


def signature(function, owner=""):
    arguments = function.args
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg):
        if argument is not None:
            argument.annotation = None
    return f"{owner}{function.name}({ast.unparse(arguments)})"


def members(tree):
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and is_public(node.name):
            yield signature(node)
        if isinstance(node, ast.ClassDef) and is_public(node.name):
            methods = [inner for inner in node.body if isinstance(inner, ast.FunctionDef) and is_public(inner.name)]
            yield from (signature(method, f"{node.name}.") for method in methods)


def offered(path):
    return sorted(members(ast.parse(path.read_text())))


package = Path(sys.argv[1])
modules = {f"holdfast.{path.stem}": offered(path) for path in sorted(package.glob("*.py")) if not path.stem.startswith("_")}
# What the package itself hands out is defined in private modules. Only `attach` makes a run.
private = [line for path in sorted(package.glob("_[a-z]*.py")) for line in offered(path)]
modules["holdfast"] = [line for line in private if line.startswith(("attach(", "Run.")) and "__init__" not in line]
print(json.dumps(modules))
