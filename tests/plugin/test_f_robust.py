"""What a user may do to the plug-in without breaking it: bad input, no memory, a lost device, many threads, leaving early."""
import subprocess
import sys
from pathlib import Path

from process import library, run

HERE = Path(__file__).parent

# What programs here share: an error is expected, its text returned.
REFUSED = """
def refused(f, *a, **k):
    try:
        out = f(*a, **k)
        tf.nest.map_structure(lambda t: t.numpy(), out)
    except (tf.errors.OpError, ValueError, TypeError) as error:
        text = str(error)
        assert "a fault in tensorflow-vulkan" not in text, text
        return text
    raise AssertionError(f"accepted: {f} {a} {k}")
"""


def program(body, **more):
    """The shared part and the program, each with its own indent."""
    import textwrap

    return run(REFUSED + textwrap.dedent(body), **more)


def test_the_op_table_spoilt():
    library()
    command = [sys.executable, str(HERE / "fuzz.py"), "--count", "1", "--seed", "7", "--every", "12"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1500)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


def test_arguments_that_no_op_takes():
    program("""
        r = tf.raw_ops
        big = 1 << 62
        with tf.device("/GPU:0"):
            # TensorFlow ends the process when asked for a negative dimension, an overflow or 255 dimensions.
            x = tf.ones([2, 3])
            image = tf.ones([1, 4, 4, 2])
            refused(r.Pad, input=x, paddings=tf.constant([[big, big], [big, big]], tf.int64))
            refused(r.Pad, input=x, paddings=tf.constant([[-1, 0], [0, -5]]))
            refused(r.Fill, dims=tf.constant([-1, -1]), value=1.0)
            refused(r.Fill, dims=tf.constant([big, 4, 0], tf.int64), value=1.0)
            refused(r.BroadcastTo, input=x, shape=tf.constant([big, 4, 2, 3], tf.int64))
            refused(r.Tile, input=x, multiples=tf.constant([big, big], tf.int64))
            refused(r.SplitV, value=x, size_splits=tf.constant([(1 << 63) - 1, (1 << 63) - 1, 4], tf.int64), axis=0, num_split=3)
            refused(r.ResizeBilinear, images=image, size=[-1, -1])
            refused(r.StatelessRandomUniform, shape=[-1, -1], seed=[1, 2])
            refused(r.StatelessRandomUniform, shape=tf.constant([big, 4, 0], tf.int64), seed=[1, 2])
            refused(r.OneHot, indices=[1, 2], depth=-2, on_value=1.0, off_value=0.0)
            refused(r.ScatterNd, indices=[[0]], updates=[1.0], shape=[-3])
            refused(r.UnsortedSegmentSum, data=x, segment_ids=[0, 1], num_segments=-1)
            refused(r.AvgPoolGrad, orig_input_shape=[1, -1, -1, 2], grad=tf.ones([1, 0, 0, 2]), ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")
            refused(r.BatchToSpaceND, input=image, block_shape=tf.constant([big, big], tf.int64), crops=[[0, 0], [0, 0]])
            refused(r.Reshape, tensor=x, shape=[1] * 255)
            refused(r.ExpandDims, input=tf.reshape(x, [1] * 251 + [2, 3]), axis=0)
            refused(r.Range, start=tf.constant(0, tf.int64), limit=tf.constant((1 << 63) - 1, tf.int64), delta=tf.constant(1, tf.int64))
            # A scalar that is none, and lengths beyond the tensor.
            refused(r.MatrixDiagV3, diagonal=x, k=1, num_rows=-1, num_cols=-1, padding_value=tf.zeros([0]))
            refused(r.Cumsum, x=tf.constant(1.0), axis=0)
            assert tf.reverse_sequence(tf.range(6.0)[None], [100], seq_axis=1).numpy().tolist() == [[5, 4, 3, 2, 1, 0]]
            # After an attribute that no kernel takes, the next op gets its own inputs and not those of the refused one.
            turned = dict(images=image, transforms=tf.ones([1, 8]), interpolation="NEAREST")
            sizes = [tf.constant(np.array([n, 4], np.int32)) for n in (7, 1)]
            assert "bogus" in refused(r.ImageProjectiveTransformV3, output_shape=sizes[0], fill_value=2.0, fill_mode="bogus", **turned)
            assert r.ImageProjectiveTransformV2(output_shape=sizes[1], fill_mode="REFLECT", **turned).shape == [1, 1, 4, 2]
            # A variable of another type than the op's.
            v, i, one = tf.Variable(tf.ones([6, 3])), tf.constant([4, 0]), tf.constant(1.0, tf.float64)
            rows = tf.ones([2, 3], tf.float64)
            for text in (
                refused(r.ResourceScatterUpdate, resource=v.handle, indices=i, updates=tf.constant(0, tf.int64)),
                refused(r.ResourceGather, resource=v.handle, indices=i, dtype=tf.float64),
                refused(r.ResourceApplyGradientDescent, var=v.handle, alpha=one, delta=tf.ones([6, 3], tf.float64)),
                refused(r.ResourceSparseApplyAdagradV2, var=v.handle, accum=v.handle, lr=one, epsilon=one, grad=rows, indices=i),
                refused(r.AssignAddVariableOp, resource=v.handle, value=tf.ones([6, 3], tf.float64)),
                refused(r.ResourceStridedSliceAssign, ref=v.handle, begin=[0], end=[2], strides=[1], value=rows),
            ):
                assert "expected a variable of" in text, text
            assert float(tf.reduce_sum(v)) == 18 and float(tf.reduce_sum(x)) == 6
    """)


def test_out_of_memory_is_an_error_and_work_goes_on():
    program("""
        gpu = tf.config.list_physical_devices("GPU")[0]
        tf.config.set_logical_device_configuration(gpu, [tf.config.LogicalDeviceConfiguration(memory_limit=128)])
        info = lambda: tf.config.experimental.get_memory_info("GPU:0")
        with tf.device("/GPU:0"):
            held = []
            try:
                for _ in range(100):
                    held.append(tf.zeros([4 << 20]) + 1.0)
                raise AssertionError("1.6 GB fitted into 128 MB")
            except tf.errors.ResourceExhaustedError as error:
                assert "[4194304]" in str(error), error
            assert 16 << 20 < info()["current"] <= 128 << 20 and 5 <= len(held) <= 8, (info(), len(held))
            assert all(float(h[-1]) == 1 for h in held)
            held.clear()
            tf.config.experimental.reset_memory_stats("GPU:0")
            assert info()["peak"] < 32 << 20, info()
            # In a function, amid other work and a variable's update.
            v = tf.Variable(tf.ones([1000]))
            @tf.function
            def step(n):
                v.assign_add(v * 0.5)
                return tf.reduce_sum(tf.linalg.matmul(tf.ones([n, 1]), tf.ones([1, n])) + v[0])
            assert float(step(tf.constant(10))) == 250
            assert "OOM" in refused(step, tf.constant(1 << 15))
            assert float(step(tf.constant(10))) > 250 and np.isfinite(v.numpy()).all()
            live = {}
            for k in range(2000):
                live[k * 7 % 23] = k, tf.fill([1 << k % 15], float(k))
            assert all(float(t[0]) == k == float(t[-1]) for k, t in live.values())
            assert info()["current"] < 16 << 20, info()
    """)


def test_memory_growth_and_a_limit_on_allocations():
    program("""
        gpu = tf.config.list_physical_devices("GPU")[0]
        tf.config.experimental.set_memory_growth(gpu, True)
        with tf.device("/GPU:0"):
            parts = [tf.fill([1 << 20], float(i)) for i in range(20)]
            assert [float(p[7]) for p in parts] == list(map(float, range(20)))
    """, TFVK_LIMIT_ALLOCATION="32m")


def test_a_lost_device_is_an_error_and_the_process_lives():
    program("""
        with tf.device("/GPU:0"):
            x = tf.constant([1.0, 2.0])
            try:
                for _ in range(10000):
                    x = x * 1.0
                    read = x.numpy().tolist()
                    assert read == [1, 2] or np.isnan(read).all(), read  # never what happened to be in memory
                raise AssertionError("not lost")
            except tf.errors.OpError as error:
                # A read may meet TensorFlow's own words first; the reason is then on standard error.
                assert "is lost" in str(error) or "SyncAll failed" in str(error), error
            assert "is lost" in refused(tf.ones, [3])
        with tf.device("/CPU:0"):
            assert float(tf.reduce_sum(tf.ones([3]))) == 3
    """, TFVK_LOSE_AFTER="20")


def test_two_devices_threads_forks_interrupts_and_leaving_at_work():
    program("""
        import multiprocessing, os, signal, threading
        tf.config.set_soft_device_placement(True)
        assert len(tf.config.list_physical_devices("GPU")) == 2

        # Training on both.
        strategy = tf.distribute.MirroredStrategy()
        with strategy.scope():
            v = tf.Variable([1.0, 2.0])
        @tf.function
        def step():
            def one():
                i = tf.cast(tf.distribute.get_replica_context().replica_id_in_sync_group, tf.float32)
                total = tf.distribute.get_replica_context().all_reduce("sum", v * (i + 1.0))
                v.assign_sub(0.1 * total)
                return total
            return strategy.run(one)
        totals = [t.numpy().tolist() for t in strategy.experimental_local_results(step())]
        assert totals == [[3, 6], [3, 6]], totals
        for value in strategy.experimental_local_results(v):
            assert np.allclose(value.numpy(), [0.7, 1.4])

        # Threads with ops, small integers, functions and tensors that go from one device to the other.
        f = tf.function(lambda x, n: tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, tf.tanh(y @ y) * 0.5), [0, x])[1])
        failed = []
        def work(seed):
            try:
                x = tf.constant(np.random.default_rng(seed).normal(size=(9, 9)).astype(np.float32))
                here, there = f"/GPU:{seed % 2}", f"/GPU:{1 - seed % 2}"
                with tf.device(here):
                    first = f(x, tf.constant(5)).numpy()
                    for i in range(200):
                        # In host memory: those of several threads must not get mixed up.
                        n = tf.constant([50 + i + 1000 * seed])
                        assert int(tf.identity(n)[0]) == int(tf.shape(tf.zeros(n))[0]) == 50 + i + 1000 * seed
                    for i in range(15):
                        y = tf.random.stateless_uniform([50 + i], [seed, i])
                        assert np.allclose(tf.sort(y).numpy(), np.sort(y.numpy()))
                        assert np.array_equal(f(x, tf.constant(5)).numpy(), first)
                        with tf.device(there):
                            z = y + 1.0
                        assert np.allclose(z.numpy() - 1, y.numpy(), atol=1e-6)
                    data = tf.data.Dataset.range(20).map(lambda i: tf.cast(i, tf.float32) * 2, num_parallel_calls=2).batch(6).prefetch(1)
                    assert sum(float(tf.reduce_sum(b)) for b in data) == 380
            except BaseException as error:
                failed.append(repr(error) + str(error))
        threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        assert not failed, failed

        # A child of a fork is told that it cannot, and may leave; the parent goes on.
        def child(pipe):
            try:
                with tf.device("/GPU:0"):
                    pipe.send(str((tf.ones([3]) + 1.0).numpy()))
            except tf.errors.OpError as error:
                pipe.send(str(error))
        ends = multiprocessing.Pipe()
        process = multiprocessing.get_context("fork").Process(target=child, args=(ends[1],))
        process.start()
        assert ends[0].poll(60) and "forked" in ends[0].recv()
        process.join(60)
        assert process.exitcode == 0

        # Python code in a graph, that fails; Ctrl-C at work.
        assert "ZeroDivisionError" in refused(tf.function(lambda: tf.py_function(lambda: 1 / 0, [], tf.float32)))
        # A process that a script starts in the background ignores the signal, and so do its children.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        # More than once: Python drops what is raised while an object is taken down.
        enough = threading.Event()
        def interrupt():
            while not enough.wait(1):
                os.kill(os.getpid(), signal.SIGINT)
        threading.Thread(target=interrupt, daemon=True).start()
        try:
            while True:
                f(tf.ones([9, 9]), tf.constant(50))
        except KeyboardInterrupt:
            enough.set()

        # Leaving with work on the way, from two threads.
        with tf.device("/GPU:0"):
            alive = [tf.Variable(tf.ones([1000])) for _ in range(20)]
            pending = [tf.linalg.matmul(tf.ones([64, 64]), tf.ones([64, 64])) for _ in range(50)]
        def forever():
            with tf.device("/GPU:0"):
                while True:
                    tf.add(alive[0], 1.0)
        threading.Thread(target=forever, daemon=True).start()
        assert float(pending[-1][0, 0]) == 64
    """, TFVK_VISIBLE_DEVICES="0,0")


def test_device_scope_round_everything_and_control_flow():
    program("""
        tf.config.set_soft_device_placement(True)
        with tf.device("/GPU:0"):
            words = tf.strings.join([tf.constant(["a", "b"]), tf.constant(["c", "d"])])
            assert words.numpy().tolist() == [b"ac", b"bd"]
            assert tf.strings.to_number(tf.constant(["1.5"])).numpy()[0] == 1.5
            data = tf.data.Dataset.range(7).map(lambda i: tf.cast(i, tf.float32) * 2).batch(3)
            assert [b.numpy().tolist() for b in data] == [[0, 2, 4], [6, 8, 10], [12]]
            table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["x"], [3]), -1)
            assert table.lookup(tf.constant(["x", "y"])).numpy().tolist() == [3, -1]
            queue = tf.queue.FIFOQueue(3, [tf.float32], shapes=[[2]])
            queue.enqueue(tf.ones([2]))
            assert queue.dequeue().numpy().tolist() == [1, 1]
            ragged = tf.ragged.constant([[1.0, 2.0], [], [3.0]])
            assert tf.reduce_sum(ragged, 1).numpy().tolist() == [3, 0, 3]
            assert (ragged * 2.0).to_tensor().numpy().tolist() == [[2, 4], [0, 0], [6, 0]]
            sparse = tf.sparse.from_dense(tf.constant([[0.0, 2.0], [3.0, 0.0]]))
            assert tf.sparse.to_dense(sparse).numpy().tolist() == [[0, 2], [3, 0]]
            assert tf.sparse.sparse_dense_matmul(sparse, tf.ones([2, 1])).numpy().tolist() == [[2], [3]]
            # Ops that the device may not have; a TensorFlow built for CUDA has kernels of its own for them, which must not run.
            half = tf.fill([2], 0.5)
            assert np.allclose(tf.math.betainc(half + 0.5, half + 0.5, half), 0.5)
            assert np.allclose(tf.linalg.svd(tf.eye(3) * 2.0, compute_uv=False), 2)
        data = tf.data.Dataset.range(10).batch(4).apply(tf.data.experimental.prefetch_to_device("/GPU:0"))
        assert sum(int(tf.reduce_sum(b)) for b in data) == 45

        # TensorFlow 1: a session, variables by reference.
        v1 = tf.compat.v1
        with tf.Graph().as_default(), tf.device("/GPU:0"):
            w = v1.get_variable("w", initializer=np.ones((3, 2), np.float32), use_resource=False)
            train = v1.train.AdamOptimizer(0.1).minimize(tf.reduce_mean((tf.ones([4, 3]) @ w) ** 2))
            with v1.Session(config=v1.ConfigProto(allow_soft_placement=True)) as session:
                session.run(v1.global_variables_initializer())
                session.run(train)
                assert np.allclose(session.run(w), 0.9, atol=1e-5)

        x = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)
        def array(x):
            a = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
            for i in tf.range(5):
                a = a.write(i, x * tf.cast(i, tf.float32))
            return tf.reduce_sum(a.stack() ** 2)
        def loop(x):
            return tf.reduce_sum(tf.while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, tf.sin(y) * x), [0, x])[1])
        def mapped(x):
            return tf.reduce_sum(tf.map_fn(lambda r: tf.exp(r) * r[0], x))
        def scanned(x):
            return tf.reduce_sum(tf.scan(lambda a, r: a * 0.5 + tf.tanh(r), x))
        def branch(x):
            return tf.cond(tf.reduce_sum(x) > 0.5, lambda: tf.reduce_sum(x * x), lambda: tf.reduce_sum(tf.exp(x)))
        def nested(x):
            inner = tf.function(lambda y: tf.while_loop(lambda i, z: i < 3, lambda i, z: (i + 1, z * y), [0, y])[1])
            return tf.reduce_sum(inner(x) + inner(x * 2.0))
        def dropped(x):
            return tf.reduce_sum(tf.switch_case(tf.constant(1), [lambda: x, lambda: x * 3.0, lambda: -x]))
        def compiled(x):
            return tf.reduce_sum(tf.function(lambda y: tf.nn.softmax(y) * y, jit_compile=True)(x))
        for f in (array, loop, mapped, scanned, branch, nested, dropped, compiled):
            out = []
            for device in ("/CPU:0", "/GPU:0"):
                @tf.function
                def run(v):
                    with tf.GradientTape() as tape:
                        tape.watch(v)
                        y = f(v)
                    return y, tape.gradient(y, v)
                with tf.device(device):
                    out.append([t.numpy() for t in run(tf.constant(x))])
            for a, b in zip(*out):
                assert np.allclose(a, b, rtol=1e-4, atol=1e-5), (f.__name__, a, b)
    """)


def test_precision_policies_eager_functions_numeric_checks_and_saving():
    program("""
        tf.config.set_soft_device_placement(True)
        import tempfile
        import keras
        x = np.random.default_rng(1).normal(size=(32, 8, 8, 1)).astype(np.float32)
        y = (x.mean((1, 2, 3)) > 0).astype(np.int64)
        def model():
            keras.utils.set_random_seed(3)
            m = keras.Sequential([keras.Input((8, 8, 1)), keras.layers.Conv2D(4, 3, activation="relu"), keras.layers.Flatten(), keras.layers.Dense(2, dtype="float32")])
            m.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
            return m
        fit = lambda m, epochs=2: m.fit(x, y, epochs=epochs, verbose=0, shuffle=False, batch_size=16).history["loss"]
        plain = fit(model())
        for policy in ("mixed_float16", "mixed_bfloat16"):
            keras.mixed_precision.set_global_policy(policy)
            assert np.allclose(fit(model()), plain, rtol=0.05), policy
        keras.mixed_precision.set_global_policy("float32")
        tf.config.run_functions_eagerly(True)
        assert np.allclose(fit(model(), 1), plain[:1], rtol=1e-4)
        tf.config.run_functions_eagerly(False)

        # Saved on one device, loaded on the other; the optimizer's state too.
        with tempfile.TemporaryDirectory() as folder:
            m = model()
            fit(m)
            want, state = m.predict(x, verbose=0), [v.numpy() for v in m.optimizer.variables]
            checkpoint = tf.train.Checkpoint(model=m)
            path = checkpoint.save(folder + "/checkpoint")
            m.save(folder + "/m.keras")
            m.export(folder + "/exported", verbose=False)
            next_losses = fit(m)
            checkpoint.restore(path).assert_existing_objects_matched()
            assert all(np.array_equal(a, b) for a, b in zip(state, [v.numpy() for v in m.optimizer.variables]))
            assert fit(m) == next_losses
            assert fit(keras.models.load_model(folder + "/m.keras")) == next_losses
            with tf.device("/CPU:0"):
                other, exported = keras.models.load_model(folder + "/m.keras"), tf.saved_model.load(folder + "/exported")
                assert np.allclose(other.predict(x, verbose=0), want, atol=1e-4)
                assert np.allclose(exported.serve(x), want, atol=1e-4)
                other.save(folder + "/cpu.keras")
            assert np.allclose(keras.models.load_model(folder + "/cpu.keras").predict(x, verbose=0), want, atol=1e-5)

        tf.debugging.enable_check_numerics()
        with tf.device("/GPU:0"):
            assert "Inf" in refused(lambda: tf.math.log(tf.zeros([2])))
            assert float(tf.reduce_sum(tf.ones([3]))) == 3
    """)
