"""The house: commands that hold word for word, traps that stay closed."""

import ast
import graphlib
import re
import subprocess
import sys
import tomllib

import pytest


def test_ci_runs_the_readmes_two_commands_word_for_word(root):
    readme = (root / "README.md").read_text("utf8")
    commands = re.findall(r"```bash\n(.+)\n```", readme)
    build, test = commands[:2]
    assert build.startswith("python3 -m venv .venv && ") and test == "pytest"
    ci = (root / ".ci/run").read_text("utf8").split("\n")
    assert ci.index(build) < ci.index(test)
    workflow = (root / ".github/workflows/book.yml").read_text("utf8")
    assert "run: .ci/run" in workflow


def test_no_file_shadows_pythons_own_code_module(root):
    # a package named `code`, or pytest putting the root on its path, breaks pdb on 3.13
    assert not (root / "code/__init__.py").exists()
    assert not (root / "conftest.py").exists()
    command = [sys.executable, "-c", "import code; print(code.__file__)"]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert str(root) not in found.stdout


def test_every_requirement_is_pinned_and_the_package_comes_last(root):
    lines = (root / "requirements.txt").read_text("utf8").split("\n")
    wanted = [line for line in lines if line and not line.startswith("#")]
    assert wanted[-1] == "-e ./code"
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in wanted[:-1])


def test_the_package_never_makes_pip_replace_colabs_torch(root):
    project = tomllib.loads((root / "code/pyproject.toml").read_text("utf8"))["project"]
    names = {re.match(r"[\w-]+", item)[0] for item in project["dependencies"]}
    assert names <= {
        "torch",
        "numpy",
        "matplotlib",
        "jaxtyping",
        "num2words",
        "safetensors",
        "sentencepiece",
        "tqdm",
    }
    assert all("<" not in item and "==" not in item for item in project["dependencies"])


def test_shapes_are_checked_in_every_module_that_annotates_them(root):
    project = tomllib.loads((root / "pyproject.toml").read_text("utf8"))
    options = project["tool"]["pytest"]["ini_options"]["addopts"]
    (packages,) = (o for o in options if o.startswith("--jaxtyping-packages="))
    *checked, checker = packages.split("=")[1].split(",")
    code = root / "code"
    annotated = {
        ".".join(path.relative_to(code).with_suffix("").parts)
        for path in (code / "attnbook").rglob("*.py")
        if re.search(r"^from jaxtyping import", path.read_text("utf8"), re.M)
    }

    def covers(name, module):  # a package stands for all its modules
        return f"{module}.".startswith(f"{name}.")

    assert all(any(covers(name, module) for name in checked) for module in annotated)
    assert all(any(covers(name, module) for module in annotated) for name in checked)
    assert checker == "beartype.beartype"


# from the bottom upwards: a module imports from its own line and from those above alone
LAYERS = """
atomic_files figure_assets laboratory ranges
attention positions
multihead
blocks
transformer
seq2seq decoding pytorch
language_model
interventions data
training.checkpoint training.loss training.parallel training.loop training
translator pretrained
training.__main__ train evaluation scoring
exercises
figures
course
"""


def is_module(name, code):
    path = code / name.replace(".", "/")
    return path.is_dir() or path.with_suffix(".py").exists()


def imports(path, code):
    """The modules of the package that one of its files imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text("utf8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            inside = {f"{node.module}.{alias.name}" for alias in node.names}
            names = {name if is_module(name, code) else node.module for name in inside}
        else:
            continue
        yield from {name for name in names if name.split(".")[0] == "attnbook"}


def test_imports_lead_downwards_and_nowhere_in_a_circle(root):
    code = root / "code"
    rank = {name: i for i, line in enumerate(LAYERS.split("\n")) for name in line.split()}

    def layer(module):
        name = module.removeprefix("attnbook").removeprefix(".")
        while name not in rank:
            assert "." in name, f"{module} is in no layer"
            name = name.rpartition(".")[0]
        return rank[name]

    graph = {}
    for path in (code / "attnbook").rglob("*.py"):
        module = ".".join(path.relative_to(code).with_suffix("").parts)
        if module == "attnbook.__init__":
            continue
        module = module.removesuffix(".__init__")
        graph[module] = {*imports(path, code)} - {module}
        above = [name for name in graph[module] if layer(name) > layer(module)]
        assert not above, f"{module} imports {above}"
    tuple(graphlib.TopologicalSorter(graph).static_order())  # a circle is an error


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
    command += ["--rounds", "1", "--only", "64 words, dropout 0.0"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    header, *_, row = result.stdout.strip().split("\n")
    assert header.startswith("torch ") and "nn.Transformer" in row
    numbers = re.findall(r"\d+\.\d+", row.split("nn.Transformer")[1])
    assert len(numbers) == 7  # two times, ratio, min, max, two memories
