"""The rule about secrets in a model's files, which `lint` checks and builds do not."""

from contextlib import suppress

import yaml
from google.protobuf.json_format import MessageToDict

from model_build import digest
from model_build.findings import Location, Problems, warning
from model_build.repository import CONFIG, Repository

MAX_BYTES = 1024 * 1024
"""Maximum bytes of a file that is scanned: larger ones are weights."""


@warning
def exposed_secrets(repository: Repository) -> Problems:
    """No file has a password, a token or a key: all who read the repository or the archive see it.

    A model gets its secrets from Secrets Manager, with the role of the endpoint.
    """
    from platform_facts.rules.secrets import EXAMPLES, NOT_SCANNED, detectors, secrets, strings

    with detectors():
        for path in digest.model_files(repository.folder):
            relative = path.relative_to(repository.folder)
            content = path.read_bytes() if path.stat().st_size <= MAX_BYTES else b"\0"
            name = relative.as_posix()
            if b"\0" in content or NOT_SCANNED.fullmatch(name) or EXAMPLES.fullmatch(name):
                continue
            lines = content.decode(errors="replace").splitlines()
            texts: set[str] = {*lines}
            if path.name == CONFIG and path.parent.name in repository.models:
                config = repository.models[path.parent.name].config
                texts.update(strings(MessageToDict(config, preserving_proto_field_name=True)))
            elif path.suffix in (".json", ".yaml", ".yml"):
                with suppress(yaml.YAMLError):
                    texts.update(strings(yaml.safe_load(content)))
            values = {value: kind for text in sorted(texts) for kind, value in secrets(text)}
            for number, line in enumerate(lines, 1):
                if kinds := sorted({kind for value, kind in values.items() if value in line}):
                    yield (
                        Location(repository.file_location(*relative.parts).path, number),
                        f"a secret ({', '.join(kinds)}): revoke it, and let the model read it "
                        "from Secrets Manager",
                    )
