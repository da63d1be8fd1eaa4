"""A script that writes the outputs of DALI and Keras without Triton, in the recipe's environment.

It reads a JSON request from stdin: `folder` (the model's), `seed`, `pictures` (JPEG files) and `to`
(an .npz file). `loaded_predictions` are those of a second model, with the weights of the first one
from a file in the format of keras.applications.
"""

import json
import os
import sys
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"

import h5py
import keras
import numpy as np
import tensorflow as tf

request = json.load(sys.stdin)
sys.path.insert(0, request["folder"])
sys.dont_write_bytecode = True
from export import inception
from keras.src.legacy.saving import legacy_h5_format
from nvidia.dali import Pipeline, types
from pipeline import preprocess

jpeg_files = [np.frombuffer(Path(name).read_bytes(), np.uint8) for name in request["pictures"]]
pipeline = Pipeline.deserialize(
    preprocess().serialize(),
    batch_size=1,
    num_threads=1,
    device_id=types.CPU_ONLY_DEVICE_ID,
    exec_pipelined=False,
    exec_async=False,
)
pipeline.build()
dali_images = [pipeline.run(DALI_INPUT_0=[picture])[0].as_array()[0] for picture in jpeg_files]
keras.utils.set_random_seed(request["seed"])
model = inception(None)
predictions = model.predict(np.stack(dali_images), verbose=0)
weights = Path(request["to"]).parent
with h5py.File(weights / "inception_v3.h5", "w") as file:
    legacy_h5_format.save_weights_to_hdf5_group(file, model)
tensorflow_images = [
    tf.image.resize(tf.io.decode_jpeg(bytes(picture), channels=3), (299, 299), antialias=True)
    for picture in jpeg_files
]
np.savez(
    request["to"],
    predictions=predictions,
    loaded_predictions=inception(weights).predict(np.stack(dali_images), verbose=0),
    dali_images=np.stack(dali_images),
    tensorflow_images=np.stack(tensorflow_images) / 127.5 - 1,
)
