"""Variables on the device: updated in place, copied when a reader still holds the value, in order, from many threads."""
from process import run


def test_updates_and_reads():
    run("""
        with tf.device("/GPU:0"):
            x = np.arange(70000, dtype=np.float32)
            v = tf.Variable(x)
            v.assign_add(x)
            v.assign_sub(tf.constant(np.ones_like(x)))
            assert "GPU:0" in v.device and np.array_equal(v.numpy(), 2 * x - 1)
            v.assign(tf.constant(x))
            assert np.array_equal(v.numpy(), x)
            for shape in [(), (0,), (1,), (3, 0, 2), (2, 3, 4, 5, 6, 7, 8), (70000, 2)]:
                w = tf.Variable(np.ones(shape, np.float32))
                w.assign_add(tf.constant(np.full(shape, 2, np.float32)))
                assert w.shape == shape and np.array_equal(w.numpy(), np.full(shape, 3, np.float32))
            for kind in ["float16", "float64", "int64", "int8", "complex64"]:
                w = tf.Variable(np.ones(5, kind))
                w.assign_add(tf.constant(np.ones(5, kind)))
                assert np.array_equal(w.numpy(), np.full(5, 2, kind)), kind
    """)


def test_a_value_that_was_read_stays():
    run("""
        with tf.device("/GPU:0"):
            x = np.arange(1000, dtype=np.float32)
            v = tf.Variable(x)
            before = v.read_value()
            v.assign_add(tf.constant(np.ones_like(x)))
            after = v.read_value()
            v.assign_add(tf.constant(np.ones_like(x)))
            assert np.array_equal(before.numpy(), x) and np.array_equal(after.numpy(), x + 1)
            assert np.array_equal(v.numpy(), x + 2)

            # The variable's value is the initialiser's own memory.
            start = tf.constant(x)
            w = tf.Variable(start)
            w.assign_add(start)
            assert np.array_equal(start.numpy(), x) and np.array_equal(w.numpy(), 2 * x)
    """)


def test_an_update_in_place_takes_no_new_memory():
    run("""
        with tf.device("/GPU:0"):
            one = tf.constant(np.ones(1 << 20, np.float32))
            v = tf.Variable(np.zeros(1 << 20, np.float32))
            v.assign_add(one)
            tf.config.experimental.reset_memory_stats("GPU:0")
            start = tf.config.experimental.get_memory_info("GPU:0")["current"]
            for _ in range(20):
                v.assign_add(one)
            info = tf.config.experimental.get_memory_info("GPU:0")
            assert info["current"] == start and info["peak"] - start < 1 << 20, (start, info)
            assert float(tf.reduce_max(v)) == 21
    """)


def test_in_a_function_with_control_flow():
    run("""
        with tf.device("/GPU:0"):
            v = tf.Variable(np.zeros(1000, np.float32))
            one = tf.constant(np.ones(1000, np.float32))

            @tf.function
            def steps(n):
                for _ in tf.range(n):
                    v.assign_add(one)
                    v.assign_sub(one * 0.5)
                return v.read_value()

            tf.config.set_soft_device_placement(True)
            assert np.array_equal(steps(tf.constant(50)).numpy(), np.full(1000, 25, np.float32))
    """)


def test_many_threads_update_one_variable():
    run("""
        from concurrent.futures import ThreadPoolExecutor
        with tf.device("/GPU:0"):
            v = tf.Variable(np.zeros(5000, np.float32))
            one = tf.constant(np.ones(5000, np.float32))
        def work(i):
            with tf.device("/GPU:0"):
                v.assign_add(one)
                return v.read_value().numpy()
        with ThreadPoolExecutor(8) as pool:
            seen = list(pool.map(work, range(200)))
        assert all((s == s[0]).all() for s in seen), "a value was seen half updated"
        assert np.array_equal(v.numpy(), np.full(5000, 200, np.float32))
    """)


def test_a_variable_by_name():
    run("""
        graph = tf.Graph()
        with graph.as_default(), tf.device("/GPU:0"):
            v = tf.compat.v1.get_variable("v", initializer=np.arange(4, dtype=np.float32), use_resource=True)
            add = v.assign_add(np.ones(4, np.float32))
            with tf.compat.v1.Session(config=tf.compat.v1.ConfigProto(allow_soft_placement=True)) as session:
                session.run(tf.compat.v1.global_variables_initializer())
                for _ in range(3):
                    session.run(add)
                assert session.run(v).tolist() == [3, 4, 5, 6]
    """)


def test_an_update_before_the_first_value_is_an_error():
    run("""
        with tf.device("/GPU:0"):
            handle = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[2])
            try:
                tf.raw_ops.AssignAddVariableOp(resource=handle, value=tf.constant([1.0, 2.0]))
                message = ""
            except tf.errors.OpError as error:
                message = str(error)
        assert message
    """)


def test_wrong_shape_is_an_error():
    run("""
        with tf.device("/GPU:0"):
            v = tf.Variable([1.0, 2.0])
            try:
                tf.raw_ops.AssignAddVariableOp(resource=v.handle, value=tf.constant([1.0, 2.0, 3.0]))
                message = ""
            except tf.errors.InvalidArgumentError as error:
                message = str(error)
            assert "AssignAddVariableOp" in message, message
            assert v.numpy().tolist() == [1, 2]
    """)
