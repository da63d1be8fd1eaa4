"""The export of InceptionV3."""

from pathlib import Path

import keras


def inception(weights: Path | None) -> keras.Model:
    """Return InceptionV3: images FP32 [batch, 299, 299, 3], probabilities FP32 [batch, 1000].

    Pixels are from -1 to 1. `weights` is a folder with inception_v3.h5 (the file
    inception_v3_weights_tf_dim_ordering_tf_kernels.h5 of keras.applications), None for random
    weights.
    """
    pixels = keras.Input((299, 299, 3), name="pixels")
    model = keras.applications.InceptionV3(weights=None, input_tensor=pixels)
    if weights is None:
        _initialize_weights(model)
    else:
        model.load_weights(weights / "inception_v3.h5")
    return model


def _initialize_weights(model: keras.Model) -> None:
    """Set random weights whose outputs differ: with Keras's, all probabilities are near 1/1000."""
    he_normal = keras.initializers.HeNormal(seed=keras.random.SeedGenerator(3))
    for layer in model.layers:
        if isinstance(layer, keras.layers.Conv2D):
            layer.kernel.assign(he_normal(layer.kernel.shape))
