"""Runs a plain Keras program in this process and records its training as JSON: `python -m tensorflow_vulkan.watch OUT PROGRAM`.

The program is not changed and imports nothing of ours: `keras.Model.fit` is given one more callback, which notes each
step's loss and time, where TensorFlow placed the ops of the step, and a digest of the weights before and after.
"""
import hashlib
import json
import runpy
import sys
import time

from tensorflow_vulkan import placement


def fingerprint(model):
    """SHA-256 over the bits of every variable of the model and of its optimiser."""
    digest = hashlib.sha256()
    for v in model.variables:
        digest.update(v.numpy().tobytes())
    return digest.hexdigest()


def recorder(record):
    """The callback. `record` is filled as training goes on."""
    import keras
    from tensorflow.python.eager import context

    class Recorder(keras.callbacks.Callback):
        def on_train_begin(self, logs=None):
            record["initial_weights"] = fingerprint(self.model)
            context.context().enable_run_metadata()

        def on_epoch_begin(self, epoch, logs=None):
            self.total = 0.0

        def on_train_batch_begin(self, batch, logs=None):
            self.start = time.perf_counter()

        def on_train_batch_end(self, batch, logs=None):
            # Keras shows the mean since the epoch began; the step's own loss is what it adds.
            total = float(logs["loss"]) * (batch + 1)
            record["means"].append(float(logs["loss"]))
            record["losses"].append(total - self.total)
            record["step_ms"].append((time.perf_counter() - self.start) * 1e3)
            self.total = total
            if "placement" not in record:
                record["placement"] = placement.rows(context.context().export_run_metadata(), "IteratorGetNext")
                context.context().disable_run_metadata()

        def on_epoch_end(self, epoch, logs=None):
            record["epochs"].append({k: float(v) for k, v in logs.items()})

        def on_train_end(self, logs=None):
            record["final_weights"] = fingerprint(self.model)

    return Recorder()


def main(out, program):
    import keras
    import tensorflow as tf

    record = {"losses": [], "means": [], "step_ms": [], "epochs": [], "devices": [d.name for d in tf.config.list_physical_devices("GPU")]}
    fit = keras.Model.fit
    keras.Model.fit = lambda self, *args, callbacks=None, **kw: fit(self, *args, callbacks=[*(callbacks or []), recorder(record)], **kw)
    runpy.run_path(program, run_name="__main__")
    with open(out, "w") as f:
        json.dump(record, f)


if __name__ == "__main__":
    main(*sys.argv[1:])
