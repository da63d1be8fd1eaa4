"""CodeBuild's project operations."""

import copy
import threading
import time
from collections.abc import Callable
from typing import Any

from local_sagemaker.api import Operation
from local_sagemaker.codebuild import settings
from local_sagemaker.environment import ACCOUNT, REGION
from local_sagemaker.errors import ApiError

Record = dict[str, Any]


class Projects:
    """The projects, with their defaults."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
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
        """Return a project's settings. Raise `ApiError` if it does not exist."""
        with self._lock:
            if name not in self._projects:
                raise ApiError("ResourceNotFoundException", f"Project cannot be found: {name}")
            return copy.deepcopy(self._projects[name])

    def _create(self, request: Record) -> Record:
        name, now = request["name"], self._clock()
        with self._lock:
            if name in self._projects:
                raise ApiError("ResourceAlreadyExistsException", f"Project already exists: {name}")
            members = {"arn": arn(name), "badge": {"badgeEnabled": False}, "created": now}
            return self._store({**request, **members, "lastModified": now})

    def _update(self, request: Record) -> Record:
        project = self.get(request["name"])
        with self._lock:
            return self._store({**project, **request, "lastModified": self._clock()})

    def _store(self, project: Record) -> Record:
        project = settings.with_defaults(project)
        self._projects[project["name"]] = project
        return {"project": copy.deepcopy(project)}

    def _delete(self, request: Record) -> Record:
        """Delete a project; its builds remain (API, DeleteProject)."""
        with self._lock:
            self._projects.pop(request["name"], None)
        return {}

    def _batch_get(self, request: Record) -> Record:
        names = [name.rpartition("/")[2] for name in request["names"]]  # ARNs are accepted too
        with self._lock:
            existing = [self._projects[name] for name in names if name in self._projects]
            missing = [name for name in names if name not in self._projects]
        return {"projects": copy.deepcopy(existing), "projectsNotFound": missing}

    def _list(self, _request: Record) -> Record:
        with self._lock:
            return {"projects": sorted(self._projects)}


def arn(name: str) -> str:
    """Return a project's ARN."""
    return f"arn:aws:codebuild:{REGION}:{ACCOUNT}:project/{name}"
