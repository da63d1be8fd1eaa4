"""CloudFormation resource type of CodeBuild's projects."""

import uuid
from typing import Any

from local_sagemaker.cloudformation import Created, ResourceType, Service
from local_sagemaker.codebuild.projects import DEFAULTS, Record, arn


class ProjectResource(ResourceType):
    """AWS::CodeBuild::Project: updated in place, unless Name changes."""

    replacing = ("Name",)

    def create(self, logical_id: str, properties: Record, stack: str) -> Created:
        """Create the project; without a Name, one is generated."""
        name = properties.get("Name") or f"{logical_id}-{uuid.uuid4().hex[:12]}"
        self.call("CreateProject", {**_with_api_names(properties), "name": name})
        return name, {"Arn": arn(name)}

    def update(self, physical_id: str, old: Record, new: Record, stack: str) -> Created:
        """Update the project; removed properties return to their defaults."""
        request = {**DEFAULTS, **_with_api_names(new), "name": physical_id}
        self.call("UpdateProject", request)
        return physical_id, {"Arn": arn(physical_id)}

    def delete(self, physical_id: str, properties: Record) -> None:
        """Delete the project, if it exists."""
        self.call("DeleteProject", {"name": physical_id})


def resource_types(codebuild: Service) -> dict[str, ResourceType]:
    """Return the resource type by CloudFormation's type name."""
    return {"AWS::CodeBuild::Project": ProjectResource(codebuild)}


def _with_api_names(content: Any) -> Any:
    """Return properties with the member names of the API, which begin in lower case."""
    if isinstance(content, list):
        return [_with_api_names(value) for value in content]
    if not isinstance(content, dict):
        return content
    return {
        "buildspec" if name == "BuildSpec" else name[:1].lower() + name[1:]: _with_api_names(value)
        for name, value in content.items()
    }
