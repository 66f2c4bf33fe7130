"""The device as TensorFlow sees it: listing, copies, memory, placement, errors, threads."""
from process import run


def test_lists_the_device_and_its_details():
    out, _ = run("""
        gpus = tf.config.list_physical_devices("GPU")
        print(len(gpus), gpus[0].device_type, tf.config.experimental.get_device_details(gpus[0]).get("device_name"))
    """)
    assert out.split()[1] == "GPU" and int(out.split()[0]) >= 1


def test_copies_of_every_type_and_size_come_back():
    run("""
        rng = np.random.default_rng(0)
        kinds = ["bool", "int8", "int16", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
                 "complex64", "complex128"]
        for kind in kinds:
            for shape in [(), (0,), (1,), (3,), (255,), (1025,), (7, 3, 0), (5, 4, 3), (300, 301)]:
                x = rng.integers(0, 100, shape).astype(kind)
                with tf.device("/GPU:0"):
                    on_device = tf.identity(tf.constant(x))
                assert "GPU:0" in on_device.device
                assert np.array_equal(on_device.numpy(), x), (kind, shape)
                with tf.device("/CPU:0"):
                    back = tf.identity(on_device)
                assert np.array_equal(back.numpy(), x), (kind, shape)
        with tf.device("/GPU:0"):
            big = rng.random((3000, 5000), np.float32)
            assert np.array_equal(tf.identity(tf.constant(big)).numpy(), big)
    """)


def test_an_operator_runs_on_the_device():
    run("""
        x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
        with tf.device("/GPU:0"):
            t = tf.transpose(tf.constant(x), [2, 0, 1])
            r = tf.reduce_sum(tf.constant(x), axis=[0, 2])
        assert "GPU:0" in t.device and np.array_equal(t.numpy(), x.transpose(2, 0, 1))
        assert np.allclose(r.numpy(), x.sum((0, 2)))
    """)


def test_memory_info_follows_allocations():
    run("""
        with tf.device("/GPU:0"):
            before = tf.config.experimental.get_memory_info("GPU:0")["current"]
            x = tf.identity(np.zeros(1 << 20, np.float32))
            during = tf.config.experimental.get_memory_info("GPU:0")["current"]
            assert during - before >= 4 << 20, (before, during)
            del x
            after = tf.config.experimental.get_memory_info("GPU:0")["current"]
            assert after - before < 1 << 20, (before, after)
            assert tf.config.experimental.get_memory_info("GPU:0")["peak"] >= during
    """)


def test_memory_growth():
    run("""
        gpu = tf.config.list_physical_devices("GPU")[0]
        tf.config.experimental.set_memory_growth(gpu, True)
        with tf.device("/GPU:0"):
            x = np.arange(100000, dtype=np.float32)
            assert np.array_equal(tf.reverse(tf.constant(x), [0]).numpy(), x[::-1])
    """)


def test_out_of_memory_is_an_error_and_the_device_stays_usable():
    run("""
        with tf.device("/GPU:0"):
            small = tf.constant(np.ones(1000, np.float32))
            try:
                tf.broadcast_to(small, [1 << 22, 1000])
                failed = False
            except tf.errors.ResourceExhaustedError:
                failed = True
            assert failed
            assert float(tf.reduce_sum(small)) == 1000
    """)


def test_many_threads():
    run("""
        from concurrent.futures import ThreadPoolExecutor
        x = np.random.default_rng(1).random((64, 65)).astype(np.float32)
        def work(i):
            with tf.device("/GPU:0"):
                t = tf.transpose(tf.constant(x + i))
                return np.array_equal(tf.reverse(t, [0]).numpy(), (x + i).T[::-1])
        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(work, range(200)))
    """)


def test_a_wrong_argument_is_a_tensorflow_error():
    run("""
        with tf.device("/GPU:0"):
            x = tf.constant(np.ones((2, 3), np.float32))
            try:
                tf.raw_ops.Transpose(x=x, perm=[0, 0])
                message = "nothing"
            except tf.errors.InvalidArgumentError as error:
                message = str(error)
            assert "Transpose" in message, message
    """)


def test_explicit_placement_of_what_is_not_for_the_device():
    run("""
        tf.config.set_soft_device_placement(True)
        with tf.device("/GPU:0"):
            data = tf.data.Dataset.from_tensor_slices(np.arange(10, dtype=np.float32)).batch(3)
            total = sum(float(np.sum(batch.numpy())) for batch in data)
            words = tf.strings.join(["a", tf.constant(["b", "c"])])
            table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer([1, 2], [3, 4]), -1)
        assert total == 45 and list(words.numpy()) == [b"ab", b"ac"]
        assert list(table.lookup(tf.constant([2, 9])).numpy()) == [4, -1]
    """)
