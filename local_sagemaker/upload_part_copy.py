"""UploadPartCopy with the checksum of the copied part, if the upload has a checksum algorithm.

Source: S3 API reference, CopyPartResult, ChecksumSHA256. ministack calculates no checksums of
copied parts, so that the completed object would have none.
"""

from typing import Any
from xml.etree.ElementTree import SubElement, fromstring, tostring

NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/"


def install(s3: Any) -> None:
    """Patch ministack's module `s3`."""
    copy_part = s3._upload_part_copy

    def copy_and_sum(bucket: str, key: str, query: Any, headers: Any) -> Any:
        status, answered, body = copy_part(bucket, key, query, headers)
        upload = s3._multipart_uploads.get(s3._qp(query, "uploadId"), {})
        algorithm = upload.get("checksum_algorithm")
        if status != 200 or not algorithm:
            return status, answered, body
        part = upload["parts"][int(s3._qp(query, "partNumber"))]
        part["checksums"] = {algorithm: s3._compute_s3_checksum(algorithm, part["body"])}
        result = fromstring(body)
        SubElement(result, f"{{{NAMESPACE}}}Checksum{algorithm}").text = part["checksums"][
            algorithm
        ]
        return status, answered, tostring(result)

    s3._upload_part_copy = copy_and_sum
