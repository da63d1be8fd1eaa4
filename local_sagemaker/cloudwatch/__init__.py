"""CloudWatch as AWS documents it, on the metrics, alarms and log events that ministack keeps."""
