"""The house: commands that hold word for word, traps that stay closed."""

import ast
import graphlib
import re
import subprocess
import sys
import tomllib

import jaxtyping
import pytest
import torch

from attnbook.attention import dot_scores

LONGEST_MODULE = 400
LONGEST_FUNCTION = 65  # without its head and docstring: one screen


def test_ci_runs_the_readmes_two_commands_word_for_word(root):
    readme = (root / "README.md").read_text("utf8")
    commands = re.findall(r"```bash\n(.+)\n```", readme)
    build, test = commands[:2]
    assert build.startswith("python3 -m venv .venv && ") and test == "pytest", (
        "The README's first two commands build the book and run `pytest`"
    )
    ci = (root / ".ci/run").read_text("utf8").split("\n")
    assert ci.index(build) < ci.index(test), ".ci/run has the README's two commands in this order"
    workflow = (root / ".github/workflows/book.yml").read_text("utf8")
    assert "run: .ci/run" in workflow, "The workflow book.yml runs what .ci/run runs, nothing else"


def test_no_file_shadows_pythons_own_code_module(root):
    for name in ("code/__init__.py", "conftest.py"):
        assert not (root / name).exists(), (
            f"{name} must not exist: a package `code`, or a root on pytest's path, hides Python's "
            "own module `code`, which breaks pdb on Python 3.13"
        )
    command = [sys.executable, "-c", "import code; print(code.__file__)"]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert str(root) not in found.stdout, "`import code` must find Python's own module"


def test_every_requirement_is_pinned_and_the_packages_come_last(root):
    lines = (root / "requirements.txt").read_text("utf8").split("\n")
    wanted = [line for line in lines if line and not line.startswith("#")]
    assert wanted[-2:] == ["-e ./code", "-e ./code/attncourse"], (
        "requirements.txt ends with the book's own two packages"
    )
    loose = [line for line in wanted[:-2] if not re.fullmatch(r"[\w.-]+==[\w.]+", line)]
    assert not loose, f"requirements.txt pins one exact version a line, without +cpu: got {loose}"


def test_the_package_never_makes_pip_replace_colabs_torch(root):
    project = tomllib.loads((root / "code/pyproject.toml").read_text("utf8"))["project"]
    names = {re.match(r"[\w-]+", item)[0] for item in project["dependencies"]}
    on_colab = "torch numpy matplotlib jaxtyping num2words safetensors sentencepiece tqdm"
    assert names <= {*on_colab.split()}, (
        f"attnbook needs nothing besides {on_colab}, so that Colab installs it in seconds; "
        "what only some readers need belongs to an extra"
    )
    capped = [item for item in project["dependencies"] if "<" in item or "==" in item]
    assert not capped, f"attnbook has lower bounds only, so that Colab keeps its torch: {capped}"


def test_shapes_are_checked_in_these_tests():
    with pytest.raises(jaxtyping.TypeCheckError, match="key"):
        dot_scores(torch.zeros(2, 3), torch.zeros(2, 4))


def imports(path, modules):
    """The modules of the package that one of its files imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text("utf8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} must import by full names, `from attnbook.…`"
            inside = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name in modules else node.module for name in inside]
        else:
            continue
        yield from (name for name in names if name.split(".")[0] == "attnbook")


def test_imports_lead_downwards_and_nowhere_in_a_circle(root):
    package = root / "code/attnbook"
    modules = {}
    for path in package.rglob("*.py"):
        parts = path.relative_to(root / "code").with_suffix("").parts
        modules[".".join(parts).removesuffix(".__init__")] = path
    listed = ast.get_docstring(ast.parse(modules.pop("attnbook").read_text("utf8")))
    order = re.findall(r"``(\w+)``", listed.split("Annotations")[0])
    rule = "code/attnbook/__init__.py lists all modules, each after those that it imports"
    assert sorted(order) == sorted({name.split(".")[1] for name in modules}), rule
    graph = {name: {*imports(path, modules)} - {name} for name, path in modules.items()}
    for name, others in graph.items():
        place = order.index(name.split(".")[1])
        above = [other for other in others if order.index(other.split(".")[1]) > place]
        assert not above, f"{rule}: {name} imports {above}"
    tuple(graphlib.TopologicalSorter(graph).static_order())  # a circle is an error


def test_no_module_and_no_function_is_too_long_to_keep_in_mind(root):
    files = [path for folder in ("code", "chapters/_ext") for path in (root / folder).rglob("*.py")]
    for path in [*files, *(root / "code/attnbook/figures").rglob("*.js")]:
        if re.match(r"ch\d\d_", path.name):  # exercises: entries, each to be read alone
            continue
        text = path.read_text("utf8")
        lines = len(text.splitlines())
        assert lines <= LONGEST_MODULE, (
            f"{path.relative_to(root)} has {lines} lines; a module has at most {LONGEST_MODULE}, "
            "so divide it where it changes its subject"
        )
        for node in ast.walk(ast.parse(text)) if path.suffix == ".py" else ():
            if not isinstance(node, ast.FunctionDef):
                continue
            body = node.body[1:] if ast.get_docstring(node) else node.body
            lines = body[-1].end_lineno - body[0].lineno + 1 if body else 0
            assert lines <= LONGEST_FUNCTION, (
                f"{node.name} in {path.relative_to(root)} has {lines} lines after its docstring; "
                f"a function has at most {LONGEST_FUNCTION}, so give a part of it a name"
            )


@pytest.mark.parametrize("arguments", [["check"], ["format", "--check"]])
def test_ruff_finds_nothing(root, arguments):
    command = [sys.executable, "-m", "ruff", *arguments, "."]
    result = subprocess.run(command, cwd=root, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_workflows_follow_githubs_schema(root):
    files = sorted((root / ".github/workflows").glob("*.yml"))
    command = [sys.executable, "-m", "check_jsonschema"]
    command += ["--builtin-schema", "vendor.github-workflows", *map(str, files)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert files and result.returncode == 0, result.stdout


def test_the_benchmark_prints_a_row_for_each_case(root):
    command = [sys.executable, str(root / "code/benchmarks")]
    command += ["--rounds", "1", "--only", "nn.MultiheadAttention"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    header, *_, row = result.stdout.strip().split("\n")
    assert header.startswith("torch ") and "nn.Multihead" in row, result.stdout
    numbers = re.findall(r"\d+\.\d+", row.split("nn.Multihead")[1])
    assert len(numbers) == 7, f"A row has two times, ratio, min, max, two memories: got {row}"
