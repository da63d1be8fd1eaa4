"""The table of a recipe: a CSV file, each row of which makes a model of the folder.

    description: Scores the orders of one customer
    for_each: customers.csv
    files:
      scorer/1/weights.npz: { to: copy, weights: "{weights}" }

`{COLUMN}` in a value of the recipe is replaced by the row's value.
"""

import csv
import difflib
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from model_build.recipe import ALTERNATIVE_NAME, Recipe
from platform_facts.rules.checked_yaml import FileProblem, InvalidFile, YamlFile

KEY = "for_each"
NAME = "name"
"""The column with the name of each model."""
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True)
class TableRow:
    """A row of a table: the number of its (last) line, and its value of each column."""

    line: int
    values: dict[str, str]


@dataclass(frozen=True)
class RecipeTable:
    """The rows of a recipe's table, by name."""

    path: Path
    rows: dict[str, TableRow]
    recipe_file: YamlFile
    placeholders: dict[str, tuple[str, ...]]
    """The columns in each value of the recipe that has some, by its dotted key."""

    @classmethod
    def read(cls, recipe_file: YamlFile) -> "RecipeTable | None":
        """Return the table of a recipe, None if it has none. Raise `InvalidFile`."""
        name = recipe_file.content.get(KEY)
        if not isinstance(name, str) or "/" in name or name in ("", ".", ".."):
            return None  # the recipe's schema reports it
        path = recipe_file.path.with_name(name)
        if not path.is_file():
            problem = f"{name} does not exist: add it beside the recipe"
            raise InvalidFile([recipe_file.problem((KEY,), problem)])
        rows = _read_rows(path)
        columns = next(iter(rows.values())).values
        placeholders = dict[str, tuple[str, ...]]()
        problems = list[FileProblem]()
        for keys, text in _texts(recipe_file.content):
            if names := tuple(_PLACEHOLDER.findall(text)):
                placeholders[".".join(map(str, keys))] = names
                problems += (
                    recipe_file.problem(keys, f"{{{column}}} is {_no_column(column, columns)}")
                    for column in names
                    if column not in columns
                )
        if problems:
            raise InvalidFile(problems)
        return cls(path, rows, recipe_file, placeholders)

    @property
    def columns(self) -> list[str]:
        """The columns that the recipe uses: a change of another column changes no model."""
        return sorted({column for columns in self.placeholders.values() for column in columns})

    def recipe(self, name: str) -> Recipe:
        """Return the recipe of a row. Raise `InvalidFile`, with the row's line for its values."""
        row = self.rows[name]
        try:
            return self.recipe_file.validate(Recipe, _fill(self.recipe_file.content, row.values))
        except InvalidFile as error:
            raise InvalidFile(
                FileProblem(self.path, row.line, ", ".join(columns), problem.message)
                if (columns := self.placeholders.get(problem.key))
                else problem
                for problem in error.problems
            ) from None

    def row_text(self, name: str) -> str:
        """Return the text of a table with one row."""
        text, values = io.StringIO(), self.rows[name].values
        csv.writer(text, lineterminator="\n").writerows([values.keys(), values.values()])
        return text.getvalue()


def _read_rows(path: Path) -> dict[str, TableRow]:
    """Return the rows of a CSV file by name. Raise `InvalidFile` with all problems."""
    rows, problems = dict[str, TableRow](), list[FileProblem]()

    def add_problem(line: int, key: str, message: str) -> None:
        problems.append(FileProblem(path, line, key, message))

    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidFile([FileProblem(path, 1, "", "is not UTF-8: save it as UTF-8")]) from None
    reader = csv.reader(io.StringIO(text), strict=True)
    try:
        header = next(reader, [])
        if NAME not in header:
            add_problem(1, NAME, "the table has no such column: add one with the models' names")
        for column in sorted({column for column in header if header.count(column) > 1}):
            add_problem(1, column, "two columns have this name: rename one")
        for values in () if problems else reader:
            line = reader.line_num
            if not values:
                continue
            if len(values) != len(header):
                message = f"has {len(values)} values, the table {len(header)} columns"
                add_problem(line, "", f"{message}: write one value for each column")
                continue
            row = TableRow(line, dict(zip(header, values, strict=True)))
            name = row.values[NAME]
            if not re.fullmatch(ALTERNATIVE_NAME, name):
                message = "is not a name: write lowercase letters and digits, with single hyphens"
                add_problem(line, NAME, f"{name!r} {message}")
            elif name in rows:
                add_problem(line, NAME, f"line {rows[name].line} has {name}, too: rename one")
            else:
                rows[name] = row
    except csv.Error as error:
        add_problem(reader.line_num, "", f"not CSV: {error}")
    if not rows and not problems:
        add_problem(1, "", "the table has no row: add one for each model")
    if problems:
        raise InvalidFile(problems)
    return rows


def _no_column(name: str, columns: Mapping[str, str]) -> str:
    close = difflib.get_close_matches(name, columns, n=1)
    hint = f"write {{{close[0]}}}" if close else f"columns are {', '.join(columns)}"
    return f"no column of the table: {hint}"


def _texts(
    content: Any, keys: tuple[str | int, ...] = ()
) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield path and text of each text in a value."""
    match content:
        case str():
            yield keys, content
        case dict():
            for key, value in content.items():
                yield from _texts(value, (*keys, key))
        case list():
            for number, value in enumerate(content):
                yield from _texts(value, (*keys, number))


def _fill(content: Any, row: Mapping[str, str]) -> Any:
    """Return a value of a recipe with a row's values in place of placeholders."""
    match content:
        case str():
            return _PLACEHOLDER.sub(lambda placeholder: row[placeholder[1]], content)
        case dict():
            return {key: _fill(value, row) for key, value in content.items()}
        case list():
            return [_fill(value, row) for value in content]
    return content
