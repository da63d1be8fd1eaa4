"""CodeBuild's projects."""

import copy
import threading
from typing import Any

from local_sagemaker.api import Operation
from local_sagemaker.codebuild import settings
from local_sagemaker.environment import ACCOUNT, REGION
from local_sagemaker.errors import ApiError

Record = dict[str, Any]


class Projects:
    """What CreateProject and its kin keep: every setting, as it was given."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._projects: dict[str, Record] = {}
        self.operations: dict[str, Operation] = {
            "BatchGetProjects": self._batch_get,
            "CreateProject": self._create,
            "DeleteProject": self._delete,
            "ListProjects": self._list,
            "UpdateProject": self._update,
        }

    def get(self, name: str) -> Record:
        """Return a project's settings. Raises `ApiError` where there is none."""
        with self._lock:
            if name not in self._projects:
                raise ApiError("ResourceNotFoundException", f"Project cannot be found: {name}")
            return copy.deepcopy(self._projects[name])

    def _create(self, request: Record) -> Record:
        project = {**settings.DEFAULTS, **request}
        settings.check(project)
        with self._lock:
            if request["name"] in self._projects:
                raise ApiError(
                    "ResourceAlreadyExistsException", f"Project already exists: {request['name']}"
                )
            self._projects[request["name"]] = copy.deepcopy(project)
        return {"project": _described(project)}

    def _update(self, request: Record) -> Record:
        project = {**self.get(request["name"]), **request}
        settings.check(project)
        with self._lock:
            self._projects[request["name"]] = copy.deepcopy(project)
        return {"project": _described(project)}

    def _delete(self, request: Record) -> Record:
        """Builds of the project stay (API, DeleteProject)."""
        with self._lock:
            self._projects.pop(request["name"], None)
        return {}

    def _batch_get(self, request: Record) -> Record:
        names = [name.rpartition("/")[2] for name in request["names"]]  # ARNs are names too
        with self._lock:
            found = [self._projects[name] for name in names if name in self._projects]
            missing = [name for name in names if name not in self._projects]
        return {
            "projects": [_described(copy.deepcopy(project)) for project in found],
            "projectsNotFound": missing,
        }

    def _list(self, _request: Record) -> Record:
        with self._lock:
            return {"projects": sorted(self._projects)}


def arn(name: str) -> str:
    """Return a project's ARN."""
    return f"arn:aws:codebuild:{REGION}:{ACCOUNT}:project/{name}"


def _described(project: Record) -> Record:
    return {**project, "arn": arn(project["name"])}
