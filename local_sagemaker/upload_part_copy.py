"""UploadPartCopy with the checksum of the copied part, if the upload has a checksum algorithm.

Source: S3 API reference, CopyPartResult, ChecksumSHA256. ministack calculates no checksums of
copied parts; without them, the completed object would have no checksum.
"""

from typing import Any
from xml.etree.ElementTree import SubElement, fromstring, tostring

NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/"


def patch(s3: Any) -> None:
    """Patch ministack's module `s3`."""
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
