"""Archives with one model, and requests to a server of archives without a catalog."""

from pathlib import Path
from typing import Any

import numpy.typing as npt
from tritonclient.http import InferenceServerClient, InferInput
from tritonclient.utils import np_to_triton_dtype

from local_sagemaker.serving import TritonServer
from local_sagemaker.tests.support.tiny_models import tar_gz

Array = npt.NDArray[Any]
Arrays = dict[str, Array]

BINARY = "application/vnd.sagemaker-triton.binary+json;json-header-size="


def write_archive(path: Path, config: str, files: dict[str, bytes]) -> None:
    """Write an archive of one model; `files` are in the folder of its version."""
    contents = {"model/config.pbtxt": config.encode()}
    contents |= {f"model/1/{name}": content for name, content in files.items()}
    path.write_bytes(tar_gz(contents))


def invoke(server: TritonServer, model: str, inputs: Arrays) -> Arrays:
    """Return the outputs of a model. Raise `ServingError`."""
    tensors = []
    for name, array in inputs.items():
        tensor = InferInput(name, list(array.shape), np_to_triton_dtype(array.dtype))
        tensor.set_data_from_numpy(array, binary_data=True)
        tensors.append(tensor)
    body, length = InferenceServerClient.generate_request_body(tensors)
    answer = server.invoke(f"{model}.tar.gz", body, f"{BINARY}{length}")
    content_type = answer.headers["Content-Type"]  # JSON if all outputs are empty
    header = int(content_type.removeprefix(BINARY)) if content_type.startswith(BINARY) else None
    result = InferenceServerClient.parse_response_body(answer.body, header_length=header)
    names = [output["name"] for output in result.get_response()["outputs"]]
    return {name: result.as_numpy(name) for name in names}
