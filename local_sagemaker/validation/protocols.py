"""Requests of AWS's JSON, Query, EC2 and CBOR protocols and of Lambda, and error responses to them.

Requests of S3 are not parsed: ministack validates them.
"""

import json
import math
import re
from functools import cache
from io import BufferedReader, BytesIO
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

import botocore.session
from botocore.model import ListShape, MapShape, ServiceModel, Shape, StructureShape
from botocore.parsers import ResponseParserError, RpcV2CBORParser

from local_sagemaker.errors import ApiError

Response = tuple[int, dict[str, str], bytes]
"""Status, headers and body of an HTTP response."""

SIGNING_NAME = re.compile(r"Credential=[^/]*/[^/]*/[^/]*/([^/]+)/")
SERVICE_NAMES = {
    "monitoring": "cloudwatch",
    "servicequotas": "service-quotas",
    "states": "stepfunctions",
    "tagging": "resourcegroupstaggingapi",
}
"""Signing name -> botocore's name of a service, where they differ."""
_CBOR_PATH = re.compile(r"/service/\w+/operation/(\w+)")


class ParsedRequest(NamedTuple):
    """A parsed request, with the input shape of its operation (None without members)."""

    service: str
    operation: str
    members: Any
    shape: Shape | None


@cache
def service_model(service: str) -> ServiceModel:
    """Return botocore's model of a service."""
    return botocore.session.get_session().get_service_model(service)


def signed_service(authorization: str) -> str:
    """Return botocore's name of the service that a request is signed for, or ""."""
    signature = SIGNING_NAME.search(authorization)
    return SERVICE_NAMES.get(signature[1], signature[1]) if signature else ""


def has_operation(method: str, path: str, headers: dict[str, str]) -> bool:
    """Return whether a request has one of these protocols."""
    is_form = headers.get("content-type", "").startswith("application/x-www-form-urlencoded")
    is_cbor = headers.get("smithy-protocol") == "rpc-v2-cbor"
    if signed_service(headers.get("authorization", "")) == "lambda":
        return True
    return method == "POST" and (
        is_cbor or (path == "/" and (is_form or "x-amz-target" in headers))
    )


def parse(
    url: str, headers: dict[str, str], body: bytes, *, method: str = "POST"
) -> ParsedRequest | None:
    """Return a request, or None if service or operation are unknown. Raise `ApiError`.

    `url` is the path, with the query if the request has one.
    """
    service, path = signed_service(headers.get("authorization", "")), urlsplit(url).path
    if service == "lambda":
        return _parse_lambda(method, url, headers, body)
    try:
        model = service_model(service)
        if "x-amz-target" in headers:
            operation, members = headers["x-amz-target"].rpartition(".")[2], parse_json(body)
        elif match := _CBOR_PATH.fullmatch(path):
            operation, members = match[1], _parse_cbor(body)
        else:
            fields = parse_qs(body.decode(), keep_blank_values=True)
            operation, members = (
                fields["Action"][-1],
                {name: last[-1] for name, last in fields.items()},
            )
        shape: Any = model.operation_model(operation).input_shape
    except (botocore.exceptions.UnknownServiceError, KeyError, UnicodeDecodeError):
        return None
    except botocore.model.OperationNotFoundError:
        return None
    if "x-amz-target" not in headers and not _CBOR_PATH.fullmatch(path):
        members = _members(members, shape, "", is_ec2=service == "ec2") if shape else {}
    return ParsedRequest(service, operation, members, shape)


def _parse_lambda(
    method: str, url: str, headers: dict[str, str], body: bytes
) -> ParsedRequest | None:
    """Return a request of the REST protocol, by the method and URI that botocore's model has."""
    path, query = urlsplit(url).path, parse_qs(urlsplit(url).query, keep_blank_values=True)
    model = service_model("lambda")
    for operation in map(model.operation_model, model.operation_names):
        uri = urlsplit(operation.http["requestUri"]).path.rstrip("/")
        match = re.fullmatch(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", uri) + "/?", path)
        if match and method == operation.http["method"]:
            break
    else:
        return None
    shape: Any = operation.input_shape
    members: Any = {name: unquote(value) for name, value in match.groupdict().items()}
    payload = shape.serialization.get("payload")
    if payload and body:
        members[payload] = body
    elif body:
        members |= parse_json(body)
    for name, member in shape.members.items():
        place, key = (member.serialization.get(item, "") for item in ("location", "name"))
        if place == "querystring" and key in query:
            members[name] = _scalar(query[key][-1], member.type_name)
        if place == "header" and key.lower() in headers:
            members[name] = _scalar(headers[key.lower()], member.type_name)
    return ParsedRequest("lambda", operation.name, members, shape)


def parse_json(body: bytes) -> Any:
    """Return the content of a JSON request, without members that are null. Raise `ApiError`."""
    try:
        return json.loads(body or b"{}", **_HOOKS)
    except (ValueError, RecursionError) as error:
        message = f"The body is not JSON: {error}"
        raise ApiError("SerializationException", message) from None


def _parse_number(text: str) -> int | float:
    """Parse a number of a request; AWS's types have at most 64 bits, without NaN and Infinity."""
    number = float(text)
    if not math.isfinite(number) or abs(number) >= 2**63:
        raise ValueError(f"{text[:20]} is not a 64-bit number")
    return int(text) if text.lstrip("-").isdigit() else number


def _without_nulls(members: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


_HOOKS: dict[str, Any] = {
    **dict.fromkeys(("parse_int", "parse_float", "parse_constant"), _parse_number),
    "object_hook": _without_nulls,
}


def _parse_cbor(body: bytes) -> Any:
    parser: Any = RpcV2CBORParser()
    try:
        return parser.parse_data_item(BufferedReader(BytesIO(body))) if body else {}
    except (ResponseParserError, ValueError, RecursionError, OverflowError) as error:
        message = f"The body is not CBOR: {error}"
        raise ApiError("SerializationException", message) from None


def _members(fields: dict[str, str], shape: Shape, prefix: str, *, is_ec2: bool) -> Any:
    """Return the value of a shape in form fields; botocore's QuerySerializer writes them."""
    inner = {name.removeprefix(prefix) for name in fields if name.startswith(prefix)}

    def read(name: str, member: Shape) -> Any:
        return _members(fields, member, prefix + name, is_ec2=is_ec2)

    if isinstance(shape, StructureShape):
        values = {}
        for name, member in shape.members.items():
            key = _field_name(name, member, is_ec2=is_ec2)
            dotted = f".{key}" if prefix else key
            if any(field == dotted or field.startswith(f"{dotted}.") for field in inner):
                values[name] = read(dotted, member)
        return values
    if isinstance(shape, ListShape):
        label = shape.member.serialization.get("name", "member")
        is_flat = is_ec2 or shape.serialization.get("flattened")
        start = "." if is_flat else f".{label}."
        return [read(f"{start}{number}", shape.member) for number in _numbers(inner, start)]
    if isinstance(shape, MapShape):
        start = "." if shape.serialization.get("flattened") else ".entry."
        key, value = (
            part.serialization.get("name", default)
            for part, default in ((shape.key, "key"), (shape.value, "value"))
        )
        return {
            read(f"{start}{number}.{key}", shape.key): read(f"{start}{number}.{value}", shape.value)
            for number in _numbers(inner, start)
        }
    return _scalar(fields.get(prefix, ""), shape.type_name)


def _field_name(name: str, member: Shape, *, is_ec2: bool) -> str:
    if is_ec2:
        other = str(member.serialization.get("name", name))
        return str(member.serialization.get("queryName", other[0].upper() + other[1:]))
    if isinstance(member, ListShape) and member.serialization.get("flattened"):
        return str(member.member.serialization.get("name", member.serialization.get("name", name)))
    return str(member.serialization.get("name", name))


def _numbers(fields: set[str], start: str) -> list[int]:
    """Return the numbers that follow `start`, sorted."""
    rest = (
        field.removeprefix(start).partition(".")[0] for field in fields if field.startswith(start)
    )
    return sorted({int(number) for number in rest if number.isdecimal()})


def _scalar(text: str, type_name: str) -> Any:
    """Return a value; a text that has another type is returned unchanged, and refused later."""
    try:
        match type_name:
            case "integer" | "long":
                return int(text)
            case "float" | "double":
                return float(text)
            case "boolean":
                return {"true": True, "false": False}[text.lower()]
    except (KeyError, ValueError):
        pass
    return text


def json_response(status: int, content: dict[str, Any]) -> Response:
    """Return an HTTP response of AWS's JSON protocol."""
    headers = {"Content-Type": "application/x-amz-json-1.1"}
    return status, headers, json.dumps(content).encode()


def error_response(error: ApiError) -> Response:
    """Return the HTTP response from which SDKs raise an exception with the error's code."""
    content = {"__type": error.code, "message": error.message, "Message": error.message}
    status, headers, body = json_response(error.status, {**content, **error.fields})
    return status, {**headers, "x-amzn-ErrorType": error.code}, body


def error_response_to(error: ApiError, path: str, headers: dict[str, str]) -> Response:
    """Return the error response to a request, in the protocol of the request."""
    is_lambda = signed_service(headers.get("authorization", "")) == "lambda"
    if "x-amz-target" in headers or is_lambda:
        return error_response(error)
    if _CBOR_PATH.fullmatch(path):
        pairs = (_cbor_text("__type"), _cbor_text(error.code), _cbor_text("message"))
        body = b"\xa2" + b"".join([*pairs, _cbor_text(error.message)])
        names = {"Content-Type": "application/cbor", "smithy-protocol": "rpc-v2-cbor"}
        return error.status, {**names, "x-amzn-query-error": f"{error.code};Sender"}, body
    inner = f"<Code>{escape(error.code)}</Code><Message>{escape(error.message)}</Message>"
    xml = f"<ErrorResponse><Error><Type>Sender</Type>{inner}</Error></ErrorResponse>"
    if "/ec2/" in headers.get("authorization", ""):
        xml = f"<Response><Errors><Error>{inner}</Error></Errors></Response>"
    return error.status, {"Content-Type": "text/xml"}, xml.encode()


def _cbor_text(text: str) -> bytes:
    content = text.encode()
    return b"\x7a" + len(content).to_bytes(4, "big") + content
