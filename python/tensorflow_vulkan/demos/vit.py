"""A small vision transformer on scikit-learn's handwritten digits: a plain Keras program, run by `python vit.py`."""
import keras
import numpy as np
from keras import layers, ops
from sklearn.datasets import load_digits

keras.utils.set_random_seed(2)

digits = load_digits()
x, y = (digits.images[..., None] / 16.0).astype(np.float32), digits.target
x_train, y_train, x_test, y_test = x[:1437], y[:1437], x[1437:], y[1437:]

PATCHES, WIDTH = 16, 48


class PatchEmbedding(layers.Layer):
    """Cuts an image into 2 x 2 patches, embeds each, and adds what a learnt table says of its place."""

    def __init__(self):
        super().__init__()
        self.project = layers.Conv2D(WIDTH, 2, strides=2)
        self.place = layers.Embedding(PATCHES, WIDTH)

    def call(self, image):
        tokens = ops.reshape(self.project(image), (-1, PATCHES, WIDTH))
        return tokens + self.place(ops.arange(PATCHES))


inputs = keras.Input((8, 8, 1))
z = PatchEmbedding()(inputs)
for _ in range(2):
    a = layers.LayerNormalization()(z)
    z = z + layers.MultiHeadAttention(num_heads=4, key_dim=12, dropout=0.1)(a, a)
    a = layers.LayerNormalization()(z)
    a = layers.Dense(2 * WIDTH, activation="gelu")(a)
    z = z + layers.Dropout(0.1)(layers.Dense(WIDTH)(a))
z = layers.GlobalAveragePooling1D()(layers.LayerNormalization()(z))
model = keras.Model(inputs, layers.Dense(10)(z))
model.compile(
    optimizer=keras.optimizers.AdamW(2e-3, weight_decay=1e-3),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
model.fit(x_train, y_train, batch_size=64, epochs=4, validation_data=(x_test, y_test), verbose=2)
