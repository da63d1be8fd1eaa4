"""InceptionV3 as the builder exports it."""

from pathlib import Path

import keras


def inception(weights: Path | None) -> keras.Model:
    """Images, FP32 [batch, 299, 299, 3] from -1 to 1, to probabilities, FP32 [batch, 1000].

    `weights` is a folder with inception_v3.weights.h5, None for random ones.
    """
    pixels = keras.Input((299, 299, 3), name="pixels")
    model = keras.applications.InceptionV3(weights=None, input_tensor=pixels)
    if weights is None:
        _spread(model)
    else:
        model.load_weights(weights / "inception_v3.weights.h5")
    return model


def _spread(model: keras.Model) -> None:
    """Draw weights that tell pictures apart: with Keras's own, every answer is nearly 1/1000."""
    he = keras.initializers.HeNormal(seed=keras.random.SeedGenerator(3))
    for layer in model.layers:
        if isinstance(layer, keras.layers.Conv2D):
            layer.kernel.assign(he(layer.kernel.shape))
