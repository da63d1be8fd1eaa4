"""CloudFormation's create, update and delete of CodeBuild projects."""

import uuid
from typing import Any

from local_sagemaker.cloudformation import Created, ResourceType, Service
from local_sagemaker.codebuild import projects, settings

Properties = dict[str, Any]


class Project(ResourceType):
    """AWS::CodeBuild::Project: changed in place, unless it gets another name."""

    replacing = ("Name",)

    def create(self, logical_id: str, properties: Properties, stack: str) -> Created:
        """Create it, under a name of CloudFormation's making where the template has none."""
        name = properties.get("Name") or f"{logical_id}-{uuid.uuid4().hex[:12]}"
        self.call("CreateProject", {**_request(properties), "name": name})
        return name, {"Arn": projects.arn(name)}

    def update(self, physical_id: str, old: Properties, new: Properties, stack: str) -> Created:
        """Change it; what the template no longer says is as by default again."""
        request = {**settings.DEFAULTS, **_request(new), "name": physical_id}
        self.call("UpdateProject", request)
        return physical_id, {"Arn": projects.arn(physical_id)}

    def delete(self, physical_id: str, properties: Properties) -> None:
        """Delete it, if it is still there."""
        self.call("DeleteProject", {"name": physical_id})


def resource_types(codebuild: Service) -> dict[str, ResourceType]:
    """Return CloudFormation's type name with what handles it."""
    return {"AWS::CodeBuild::Project": Project(codebuild)}


def _request(properties: Properties) -> Properties:
    """Return properties with the names that the service's API gives them."""
    request: Properties = _renamed(properties)
    return request


def _renamed(content: Any) -> Any:
    if isinstance(content, dict):
        return {
            "buildspec" if name == "BuildSpec" else name[:1].lower() + name[1:]: _renamed(value)
            for name, value in content.items()
        }
    if isinstance(content, list):
        return [_renamed(value) for value in content]
    return content
