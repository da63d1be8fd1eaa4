import json
import subprocess
import sys
from pathlib import Path

import platform_facts


def test_import_needs_only_the_standard_library_and_reads_no_data_file() -> None:
    program = (
        "import json, sys; before = set(sys.modules); import platform_facts; "
        "from platform_facts._tables import read_table; "
        "new = {name.partition('.')[0] for name in set(sys.modules) - before}; "
        "print(json.dumps([sorted(new), read_table.cache_info().currsize]))"
    )
    root = Path(platform_facts.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=True
    )
    imported, tables_read = json.loads(done.stdout)
    assert "platform_facts" in imported
    assert set(imported) - {"platform_facts"} <= sys.stdlib_module_names
    assert tables_read == 0
