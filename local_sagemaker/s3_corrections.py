"""Corrections of ministack's S3: checksums of copied parts, and errors of a full disk."""

import logging
import sys
from contextvars import ContextVar
from typing import Any
from xml.etree.ElementTree import SubElement, fromstring, tostring

NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/"


def patch(s3: Any) -> None:
    """Patch ministack's module `s3`."""
    _add_checksums(s3)
    _refuse_unstored_objects(s3)


def _add_checksums(s3: Any) -> None:
    """Let UploadPartCopy return the checksum of the part, if its upload has an algorithm.

    Source: S3 API reference, CopyPartResult, ChecksumSHA256. ministack calculates no checksums of
    copied parts; without them, the completed object would have no checksum.
    """
    copy_part = s3._upload_part_copy

    def copy_with_checksum(bucket: str, key: str, query: Any, headers: Any) -> Any:
        status, response_headers, body = copy_part(bucket, key, query, headers)
        upload = s3._multipart_uploads.get(s3._qp(query, "uploadId"), {})
        algorithm = upload.get("checksum_algorithm")
        if status != 200 or not algorithm:
            return status, response_headers, body
        copied_part = upload["parts"][int(s3._qp(query, "partNumber"))]
        checksum = s3._compute_s3_checksum(algorithm, copied_part["body"])
        copied_part["checksums"] = {algorithm: checksum}
        result = fromstring(body)
        SubElement(result, f"{{{NAMESPACE}}}Checksum{algorithm}").text = checksum
        return status, response_headers, tostring(result)

    s3._upload_part_copy = copy_with_checksum


def _refuse_unstored_objects(s3: Any) -> None:
    """Let a request fail if its object cannot be written, such as on a full disk, or read.

    ministack catches the error, logs a warning, and answers 200, with an object that it has only in
    memory, or without its content.
    """
    dispatch, errors = s3._dispatch, ContextVar[list[OSError]]("errors")

    def record_error(_: logging.LogRecord) -> bool:
        error = sys.exc_info()[1]
        if isinstance(error, OSError):
            errors.get([]).append(error)
        return True

    def dispatch_or_fail(*request: Any) -> Any:
        errors.set([])
        response = dispatch(*request)
        if not errors.get():
            return response
        reason = errors.get()[0].strerror
        return s3._error("InternalError", f"A file of the local SageMaker failed: {reason}", 500)

    s3.logger.addFilter(record_error)
    s3._dispatch = dispatch_or_fail
