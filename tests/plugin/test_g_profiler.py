"""TensorFlow's profiler shows the device's kernels, by name, on the host's clock."""
from process import run


def test_kernels_are_in_the_trace():
    run("""
        import glob, os, tempfile, time
        from tensorflow.python.framework import load_library
        from tensorflow.tsl.profiler.protobuf import xplane_pb2
        # Loaded once more, as where it is installed and named too, it must not take the trace from itself.
        load_library.load_pluggable_device_library(os.environ["TF_PLUGGABLE_DEVICE_LIBRARY_PATH"])
        folder = tempfile.mkdtemp()
        with tf.device("/GPU:0"):
            x = tf.ones([64, 64])
            before = tf.linalg.matmul(x, x).numpy()
            for turn in range(2):
                begin = time.time_ns()
                tf.profiler.experimental.start(f"{folder}/{turn}")
                for _ in range(3):
                    y = tf.tanh(tf.linalg.matmul(x, x))
                y.numpy()
                tf.profiler.experimental.stop()
                took = time.time_ns() - begin
                tf.linalg.matmul(x, x).numpy()
                (path,) = glob.glob(f"{folder}/{turn}/**/*.xplane.pb", recursive=True)
                space = xplane_pb2.XSpace()
                with open(path, "rb") as file:
                    space.ParseFromString(file.read())
                (plane,) = [p for p in space.planes if p.name == "/device:GPU:0"]
                (line,) = plane.lines
                names = [plane.event_metadata[e.metadata_id].name for e in line.events]
                assert sum("matmul" in n for n in names) == 3 and sum("Tanh" in n for n in names) == 3, names
                ends = [e.offset_ps + e.duration_ps for e in line.events]
                assert all(e.duration_ps > 0 for e in line.events) and ends == sorted(ends), line
                # TensorFlow writes times from the beginning of the trace on.
                since = line.timestamp_ns if line.timestamp_ns < begin // 2 else line.timestamp_ns - begin
                assert -50e6 < since < took and since + ends[-1] / 1000 < took + 50e6, (since, ends[-1], took)
    """)
