"""CloudWatch's alarms as AWS documents them, on the metrics that ministack keeps."""
