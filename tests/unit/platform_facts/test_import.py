import json
import sys
from pathlib import Path

import platform_facts
from tests.processes import run_program


def test_import_needs_only_the_standard_library_and_reads_no_data_file() -> None:
    program = (
        "import json, sys; before = set(sys.modules); import platform_facts; "
        "from platform_facts._tables import read_table; "
        "new = {name.partition('.')[0] for name in set(sys.modules) - before}; "
        "print(json.dumps([sorted(new), read_table.cache_info().currsize]))"
    )
    root = Path(platform_facts.__file__).parents[1]
    done = run_program(sys.executable, "-c", program, cwd=root)
    imported, tables_read = json.loads(done.stdout)
    assert "platform_facts" in imported
    assert set(imported) - {"platform_facts"} <= sys.stdlib_module_names
    assert tables_read == 0
