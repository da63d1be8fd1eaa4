"""SageMaker Python SDK v2: deploy, invoke and delete a multi-model endpoint with data capture.

python docs/examples/clients/sagemaker_sdk_v2.py \\
    s3://BUCKET/PREFIX/ ROLE-ARN ARCHIVE NUMBER s3://BUCKET/CAPTURED
"""

import sys

import sagemaker
from sagemaker.deserializers import JSONDeserializer
from sagemaker.model_monitor import DataCaptureConfig
from sagemaker.multidatamodel import MultiDataModel
from sagemaker.predictor import Predictor
from sagemaker.serializers import JSONSerializer

prefix, role, archive, number, captured = sys.argv[1:]
session = sagemaker.Session()
instance_type = "ml.m5.xlarge"

models = MultiDataModel(
    name="sdk-v2",
    model_data_prefix=prefix,
    image_uri=sagemaker.image_uris.retrieve(
        "sagemaker-tritonserver", session.boto_region_name, "24.09", instance_type=instance_type
    ),
    role=role,
    env={"SAGEMAKER_TRITON_PING_MODE": "live"},  # healthy without a loaded model
    predictor_cls=Predictor,
    sagemaker_session=session,
)
predictor = models.deploy(
    initial_instance_count=1,
    instance_type=instance_type,
    serializer=JSONSerializer(),
    deserializer=JSONDeserializer(),
    data_capture_config=DataCaptureConfig(
        enable_capture=True, sampling_percentage=100, destination_s3_uri=captured
    ),
)
try:
    models.add_model(archive, "added/while-it-serves.tar.gz")
    print(*models.list_models())

    tensor = {"name": "X", "datatype": "FP32", "shape": [1, 1], "data": [float(number)]}
    for target_model in models.list_models():
        response = predictor.predict({"inputs": [tensor]}, target_model=target_model)
        print(response["outputs"][0]["data"])

    # For an existing endpoint, an application needs only a Predictor.
    existing = Predictor(predictor.endpoint_name, session, JSONSerializer(), JSONDeserializer())
    print(existing.predict({"inputs": [tensor]}, target_model=target_model)["outputs"][0]["data"])
finally:
    predictor.delete_endpoint()
