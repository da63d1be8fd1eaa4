"""A script that writes the outputs of DALI and Keras without Triton, in the recipe's environment.

It reads a JSON request from stdin: `folder` (the model's), `seed`, `pictures` (JPEG files) and `to`
(an .npz file).
"""

import json
import os
import sys
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"

import keras
import numpy as np
import tensorflow as tf

request = json.load(sys.stdin)
sys.path.insert(0, request["folder"])
sys.dont_write_bytecode = True
from export import inception
from nvidia.dali import Pipeline, types
from pipeline import preprocess

encoded = [np.frombuffer(Path(name).read_bytes(), np.uint8) for name in request["pictures"]]
pipeline = Pipeline.deserialize(
    preprocess().serialize(),
    batch_size=1,
    num_threads=1,
    device_id=types.CPU_ONLY_DEVICE_ID,
    exec_pipelined=False,
    exec_async=False,
)
pipeline.build()
decoded = [pipeline.run(DALI_INPUT_0=[picture])[0].as_array()[0] for picture in encoded]
keras.utils.set_random_seed(request["seed"])
predictions = inception(None).predict(np.stack(decoded), verbose=0)
by_tensorflow = [
    tf.image.resize(tf.io.decode_jpeg(bytes(picture), channels=3), (299, 299), antialias=True)
    for picture in encoded
]
np.savez(
    request["to"],
    predictions=predictions,
    decoded=np.stack(decoded),
    by_tensorflow=np.stack(by_tensorflow) / 127.5 - 1,
)
