"""Weights on the Hugging Face Hub."""

from pathlib import Path

from model_build.errors import BuildError
from model_build.recipe import HubWeights


def download_from_hub(weights: HubWeights, to: Path) -> None:
    """Download the named files of the pinned revision."""
    from httpx2 import HTTPError  # what the hub's client speaks HTTP with
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, OfflineModeIsEnabled

    unreachable = (
        HfHubHTTPError,
        LocalEntryNotFoundError,
        OfflineModeIsEnabled,
        HTTPError,
        OSError,
    )
    for name in weights.files:
        try:
            hf_hub_download(
                weights.repository, name, revision=weights.revision, local_dir=to, token=False
            )
        except unreachable as error:
            reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
            raise BuildError(
                f"{weights.repository}: {name} of revision {weights.revision[:12]} could not be "
                f"downloaded ({reason}): building a model for the first time needs huggingface.co, "
                "later builds use the cache. Offline, put the file into a folder and write "
                "`from: folder` into the recipe"
            ) from None
