"""What programs can do, from their syntax trees: a change that can do more is a danger.

Programs are the code of models, and that of functions in AWS, of deliveries and of clients.

Every change of code is listed for people (`changed_code`). This is for the line that hides among
many: names are resolved through imports, so that `from os import system as s` is `os.system`.
"""

import ast
import builtins
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from review.files.changed_code import ChangedFile
from review.files.python_code import (
    LOGGING,
    cut,
    first_line,
    fold,
    is_literal,
    last_name,
    literals,
    parse,
)
from review.remark import Remark

NETWORK, HOSTS = "uses the network", "names the host"
PROGRAMS, CODE = "runs programs", "runs code that it is given"
ENVIRONMENT, NATIVE, OUTSIDE = "reads the environment", "runs native code", "uses files outside"
WRITING = "writes or deletes files"
UNVERIFIED = "does not verify who answers"
LOGGED = "writes what callers send into its log, for all who read it (CloudWatch)"

NAMES: dict[str, tuple[str, ...]] = {
    NETWORK: (
        "aiohttp", "asyncio.open_connection", "boto3", "botocore", "ftplib", "grpc", "http",
        "httpx", "huggingface_hub", "paramiko", "requests", "smtplib", "socket", "socketserver",
        "ssl", "telnetlib", "torch.hub", "tritonclient", "urllib.request", "urllib3", "websocket",
        "websockets", "xmlrpc",
    ),
    PROGRAMS: (
        "asyncio.create_subprocess*", "multiprocessing", "os.exec*", "os.fork*", "os.popen",
        "os.posix_spawn*", "os.spawn*", "os.system", "pexpect", "pty", "sh", "subprocess",
    ),
    CODE: (
        "__import__", "builtins", "cloudpickle", "code", "compile", "dill", "eval", "exec",
        "globals", "importlib", "joblib", "marshal", "pickle", "runpy", "shelve", "sys.modules",
        "sys.path", "torch.load", "vars",
    ),
    ENVIRONMENT: ("os.environ*", "os.getenv*", "os.putenv"),
    WRITING: (
        "os.chmod", "os.remove", "os.rename", "os.replace", "os.rmdir", "os.symlink", "os.unlink",
        "shutil.copy*", "shutil.move", "shutil.rmtree", "tempfile",
    ),
    UNVERIFIED: ("ssl._create_unverified_context", "ssl.CERT_NONE"),
    NATIVE: ("cffi", "ctypes", "mmap", "numpy.ctypeslib", "torch.*.load_library"),
}  # fmt: skip
"""Capability -> names of modules, functions and attributes. Python's standard library, and the
packages that models commonly have; chosen for this project."""
DYNAMIC = ("__builtins__", "__dict__", "__globals__", "__loader__", "__subclasses__")
"""Attributes through which code reaches any other name."""
HOST = re.compile(r"(?:https?|wss?|ftp|s3|grpc|tcp)://([\w.-]+)|\b((?:\d{1,3}\.){3}\d{1,3})\b")
PATH = re.compile(r"(/|~/|\.\./)[\w.~-][\w./~-]*")
"""A text that is an absolute path, or one above the model's folder."""
OPENING = (
    "codecs.open", "io.open", "numpy.fromfile", "numpy.load", "open", "os.listdir", "os.open",
    "os.scandir", "os.walk", "pathlib.Path", "shutil.copyfile",
)  # fmt: skip
"""Functions whose first argument is the path of a file or folder that they read."""
NATIVE_FILE = re.compile(r".*\.(so(\.\d+)*|dll|dylib|pyd|a|o)")
ELF, PICKLE = b"\x7fELF", b"\x80"

INSTALLING = re.compile(r"\bpip3? .*\b(install|download)\b")
PACKAGES = "pypi.org"
"""The host from which pip downloads, if nothing names another one."""
SIZES = ("dtype", "len", "ndim", "shape", "size", "type")
"""Functions and attributes of what callers send that do not tell it."""

PROGRAM = re.compile(r"(delivery|endpoint_client|constructs/\w+/\w+_handler)/(?=.*\.py$)")
"""Folders of other code that runs with a stage."""
RISKS = (NETWORK, PROGRAMS, CODE, NATIVE, UNVERIFIED)
"""Capabilities that are a danger in that code too; it reads files, names hosts in messages, and
logs the events of CloudFormation."""

Capability = tuple[str, str]
"""What code does, and the host, path or program, empty if the code does not name it."""

NamedUse = tuple[Capability, ast.AST, str]
"""Capability, node and name in the code."""

MAX_STATEMENT = 160
"""Maximum characters of a statement in a report."""
MAX_SOURCES = 2
"""Maximum assignments of the names in a statement."""


@dataclass(frozen=True)
class Use:
    """The first use of a capability: name in the code, and the statement, empty for a file."""

    path: str
    name: str
    statement: str = ""

    @property
    def is_import(self) -> bool:
        """Whether it is only an import, which tells less than what the code does with it."""
        return self.statement.startswith(("import ", "from "))


def new_capabilities(
    changed: Iterable[ChangedFile], base: Mapping[str, bytes], head: Mapping[str, bytes]
) -> Iterator[tuple[str, Remark]]:
    """Yield path and danger of the capabilities that the code of a model did not have, by file.

    `changed` are the changed files; what a renamed file had before counts as had.
    """
    by_program: dict[str, list[ChangedFile]] = {}
    for file in changed:
        if program := _program(file.path):
            by_program.setdefault(program, []).append(file)
    for program, files in sorted(by_program.items()):
        is_model = program.startswith("models/")
        before, after = (
            {path: content for path, content in side.items() if _program(path) == program}
            for side in (base, head)
        )
        before |= {file.path: file.before for file in files if file.before is not None}
        known = _capabilities(before)
        texts: dict[str, dict[str, list[str]]] = {}
        added = {
            key: use
            for key, use in _capabilities(after).items()
            if key not in known and (is_model or key[0] in RISKS)
        }
        for (kind, target), use in added.items():
            name = use.name if use.name.startswith(target) else f"{target}: {use.name}"
            by_statement = texts.setdefault(use.path, {})
            by_statement.setdefault(use.statement, []).append(f"{kind} ({name})")
        for path, uses in texts.items():
            parts = (
                f"{', '.join(names)}{f': {statement}' if statement else ''}"
                for statement, names in uses.items()
            )
            subject = "the model's code" if is_model else "the program's code"
            yield path, Remark("new_capabilities", f"{subject} newly {'; '.join(parts)}")


def named_hosts(files: Mapping[str, bytes]) -> set[str]:
    """Return the hosts that the code of a model names, if it can use the network."""
    return {target for kind, target in _capabilities(files) if kind == HOSTS and target}


def _program(path: str) -> str:
    """Return the folder of a model or of another program that runs with a stage, or empty."""
    parts = path.split("/")
    if parts[0] == "models" and len(parts) > 2 and "tests" not in parts:
        return "/".join(parts[:2])
    match = PROGRAM.match(path)
    return match[0] if match else ""


def _capabilities(files: Mapping[str, bytes]) -> dict[Capability, Use]:
    """Return the capabilities of the files of a model, with their first use.

    A host in a text counts only if the code can use the network.
    """
    capabilities: dict[Capability, Use] = {}
    hosts: dict[Capability, Use] = {}
    for path, content in sorted(files.items()):
        name = path.rpartition("/")[2]
        if content.startswith(ELF) or NATIVE_FILE.fullmatch(name):
            capabilities.setdefault((NATIVE, name), Use(path, name))
        elif content.startswith(PICKLE) and not name.endswith((".onnx", ".plan", ".safetensors")):
            capabilities.setdefault((CODE, name), Use(path, f"{name}, pickled objects"))
        elif path.endswith(".py"):
            tree = parse(content)
            if tree is None:
                capabilities.setdefault((CODE, name), Use(path, "a file that is not Python"))
                continue
            statements = _statements(tree)
            for capability, node, used in _Reader().read(tree):
                uses = hosts if capability[0] == HOSTS else capabilities
                if capability not in uses or uses[capability].is_import:
                    uses[capability] = Use(path, used, statements.get(node, ""))
    if {kind for kind, _ in capabilities} & {NETWORK, PROGRAMS, CODE, NATIVE}:
        capabilities |= hosts
    return capabilities


def _statements(tree: ast.Module) -> dict[ast.AST, str]:
    """Return each node -> its statement with the line, of a compound statement the first line.

    It ends with the assignments of the local names in it, such as of what a call sends.
    """
    nodes = [*ast.walk(tree)]  # outer statements come before inner ones
    stored = Counter(node.id for node in nodes
                     if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))  # fmt: skip
    assigned = {
        node.targets[0].id: cut(first_line(node), MAX_STATEMENT)
        for node in nodes
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and stored[node.targets[0].id] == 1
    }
    statements: dict[ast.AST, str] = {}
    for statement in (node for node in nodes if isinstance(node, ast.stmt)):
        parts = [*ast.walk(statement)]
        names = dict.fromkeys(part.id for part in parts
                              if isinstance(part, ast.Name) and part.id in assigned
                              and isinstance(part.ctx, ast.Load))  # fmt: skip
        is_compound = any(isinstance(part, ast.stmt) for part in parts[1:])
        sources = [] if is_compound else [assigned[name] for name in names][:MAX_SOURCES]
        text = f"{cut(first_line(statement), MAX_STATEMENT)} (line {statement.lineno})"
        text += f" with {', '.join(sources)}" if sources else ""
        statements.update(dict.fromkeys(parts, text))
    return statements


def _of_text(text: object, node: ast.AST) -> Iterator[NamedUse]:
    """Yield the hosts in a text, and the text if it is a path."""
    if isinstance(text, bytes):
        text = text.decode(errors="replace")
    if isinstance(text, str):
        for match in HOST.finditer(text):
            host = match[1] or match[2]
            yield (HOSTS, host), node, host
        if PATH.fullmatch(text):
            yield (OUTSIDE, text), node, text


def _names_in(value: ast.expr) -> set[str]:
    """Return the names in an expression, and attributes such as `self.folder`."""
    attributes = [node for node in ast.walk(value) if isinstance(node, ast.Attribute)
                  and isinstance(node.value, ast.Name) and node.value.id == "self"]  # fmt: skip
    names = {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}
    return (names - {"self"}) | {f"self.{node.attr}" for node in attributes}


def _requests(nodes: list[ast.AST]) -> set[str]:
    """Return the parameters that are what callers send: Triton's requests, and Lambda's event."""
    functions = (node for node in nodes if isinstance(node, ast.FunctionDef))
    names = ((node.name, [part.arg for part in node.args.args]) for node in functions)
    return {
        own[-1] if name == "execute" else own[0]
        for name, own in names
        if own and (name == "execute" or own[1:2] in (["context"], ["_context"]))
    }


def _readable_names(node: ast.AST) -> set[str]:
    """Return the names in an expression whose values it tells, not only their size."""
    if isinstance(node, ast.Name):
        return {node.id}
    if isinstance(node, ast.Call) and last_name(node.func) in SIZES:
        return set()
    if isinstance(node, ast.Attribute) and node.attr in SIZES:
        return set()
    parts = (
        [node.elt]
        if isinstance(node, ast.GeneratorExp | ast.ListComp | ast.SetComp)
        else ast.iter_child_nodes(node)
    )
    return set[str]().union(*map(_readable_names, parts))


def _called_parameters(nodes: list[ast.AST]) -> dict[str, list[ast.expr]]:
    """Return parameter -> the arguments of all calls; none if something else may call it."""
    references = Counter(map(last_name, nodes))
    calls: dict[str, list[ast.Call]] = {}
    for node in nodes:
        if isinstance(node, ast.Call):
            calls.setdefault(last_name(node.func), []).append(node)
    arguments: dict[str, list[ast.expr]] = {}
    unknown = set[str]()
    for function in nodes:
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        own_calls = calls.get(function.name, [])
        names = [part.arg for part in function.args.args if part.arg not in ("self", "cls")]
        if not own_calls or references[function.name] > len(own_calls):
            unknown.update(names)
        for call in own_calls:
            by_name = {word.arg: word.value for word in call.keywords}
            by_name |= dict(zip(names, call.args, strict=False))
            if not {*names} <= by_name.keys() or any(
                isinstance(argument, ast.Starred) for argument in call.args
            ):
                unknown.update(names)
            for name in names:
                arguments.setdefault(name, []).extend([by_name[name]] if name in by_name else [])
    return {name: values for name, values in arguments.items() if name not in unknown}


class _Reader:
    """Reads the capabilities of a module."""

    def __init__(self) -> None:
        self._imported: dict[str, str] = {}
        """Local name -> full name."""

    def read(self, tree: ast.Module) -> Iterator[NamedUse]:
        """Yield capability, node and name in the code of each use."""
        nodes = [*ast.walk(tree)]
        for node in nodes:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    full_name = alias.name if alias.asname else alias.name.partition(".")[0]
                    self._imported[alias.asname or full_name] = full_name
                    yield from self._of_name(alias.name, node)
            elif isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    name = f"{'.' * node.level}{node.module or ''}.{alias.name}"
                    self._imported[alias.asname or alias.name] = name
                    yield from self._of_name(name, node)
        for _, value, node in literals(tree):
            for text in value if isinstance(value, list) else [value]:
                yield from _of_text(text, node)
        own = self._derived(nodes, {"args", "__file__"}, self._own)
        sent = self._derived(
            nodes, _requests(nodes), lambda value, names: bool(_readable_names(value) & names)
        )
        for node in nodes:
            match node:
                case ast.Attribute() | ast.Name():
                    yield from self._of_name(self._full_name(node), node)
                    if isinstance(node, ast.Attribute) and node.attr in DYNAMIC:
                        yield (CODE, ""), node, node.attr
                case ast.keyword(arg="verify", value=ast.Constant(value=False)):
                    yield (UNVERIFIED, "verify"), node, "verify=False"
                case ast.keyword(arg="shell", value=ast.Constant(value=True)):
                    yield (PROGRAMS, "a shell"), node, "shell=True"
                case ast.Call():
                    yield from self._of_call(node)
                    yield from self._of_path(node, own)
                    if LOGGING.fullmatch(ast.unparse(node.func)):
                        for name in sorted(_readable_names(node) & sent):
                            yield (LOGGED, name), node, name

    def _of_name(self, name: str, node: ast.stmt | ast.expr) -> Iterator[NamedUse]:
        for kind, patterns in NAMES.items() if name else ():
            for pattern in patterns:
                if fnmatchcase(name, pattern) or fnmatchcase(name, f"{pattern}.*"):
                    yield (kind, pattern.rstrip("*")), node, name

    def _of_call(self, call: ast.Call) -> Iterator[NamedUse]:
        """Yield the program that a call names, and an attribute that only running code knows."""
        name = self._full_name(call.func)
        words = (part.value for part in ast.walk(call) if isinstance(part, ast.Constant))
        command = " ".join(word for word in words if isinstance(word, str))
        if INSTALLING.search(command) and any(
            kind == PROGRAMS for (kind, _), *_ in self._of_name(name, call)
        ):
            yield (HOSTS, PACKAGES), call, PACKAGES
        match call.args:
            case [_, argument, *_] if name == "getattr" and not is_literal(fold(argument, {})):
                yield (CODE, "a computed attribute"), call, name
            case [
                ast.Constant(value=str(text))
                | ast.List(elts=[ast.Constant(value=str(text)), *_])
                | ast.Tuple(elts=[ast.Constant(value=str(text)), *_]),
                *_,
            ]:
                for (kind, _), node, _ in self._of_name(name, call):
                    if kind == PROGRAMS:
                        yield (kind, text.partition(" ")[0]), node, name

    def _of_path(self, call: ast.Call, own: set[str]) -> Iterator[NamedUse]:
        """Yield that a call opens a path that is not the model's own, such as one of a request."""
        name = self._full_name(call.func)
        modes = [*call.args[1:2], *(word.value for word in call.keywords if word.arg == "mode")]
        mode = next((fold(node, {}) for node in modes), "r")
        if (name in ("open", "io.open") and {*str(mode)} & {*"wax+"}) or (
            isinstance(call.func, ast.Attribute) and call.func.attr in ("write_bytes", "write_text")
        ):
            yield (WRITING, "open"), call, name or "write"
        if name in OPENING and call.args and not self._own(call.args[0], own):
            yield (OUTSIDE, "a computed path"), call, name

    def _derived(
        self, nodes: list[ast.AST], own: set[str], is_own: Callable[[ast.expr, set[str]], bool]
    ) -> set[str]:
        """Return `own` with the names whose values are made of it, by a function that decides it.

        Names made of only Triton's arguments, `__file__` and literals have no value from a request
        or a file, those made of a request may have. Parameters of functions are made of the
        arguments, if the module has all calls.
        """
        parameters = _called_parameters(nodes)
        while True:
            size = len(own)
            for node in nodes:
                match node:
                    case (
                        ast.Assign(targets=[target], value=value)
                        | ast.AnnAssign(target=target, value=ast.expr() as value)
                        | ast.NamedExpr(target=target, value=value)
                        | ast.For(target=target, iter=value)
                        | ast.comprehension(target=target, iter=value)
                    ) if is_own(value, own):
                        own.update(_names_in(target))
            own |= {
                name
                for name, arguments in parameters.items()
                if arguments and all(is_own(argument, own) for argument in arguments)
            }
            if len(own) == size:
                return own

    def _own(self, value: ast.expr, own: set[str]) -> bool:
        names = _names_in(value)
        return all(
            name in own or name in self._imported or hasattr(builtins, name) for name in names
        )

    def _full_name(self, node: ast.expr) -> str:
        """Return the dotted name of an expression, empty if it is neither imported nor built in."""
        names: list[str] = []
        while True:
            match node:
                case ast.Attribute(value=node, attr=name):
                    names.append(name)
                case ast.Call(func=ast.Name(id="getattr"), args=[node, attribute, *_]):
                    names.append(str(fold(attribute, {})))
                case _:
                    break
        if not isinstance(node, ast.Name) or not (
            node.id in self._imported or hasattr(builtins, node.id)
        ):
            return ""
        return ".".join((self._imported.get(node.id, node.id), *reversed(names)))
