"""What may be wrong around the plug-in: TensorFlow goes on, and one sentence says what it is."""
import shutil

from process import library, run

COUNT = 'print(len(tf.config.list_physical_devices("GPU")), float(tf.add(1.0, 2.0)))'


def test_no_driver():
    out, err = run(COUNT, VK_DRIVER_FILES="/nonexistent.json", VK_ICD_FILENAMES="/nonexistent.json")
    assert out.split() == ["0", "3.0"]
    assert err.count("tensorflow-vulkan: no device:") == 1, err


def test_an_adapter_that_lacks_something_is_no_device():
    """As SwiftShader is refused: what is missing is named, and TensorFlow trains on the CPU."""
    out, err = run(f"""
        {COUNT}
        model = tf.keras.Sequential([tf.keras.Input([3]), tf.keras.layers.Dense(4)])
        model.compile("adam", "mse")
        loss = model.fit(np.ones([8, 3]), np.ones([8, 4]), verbose=0).history["loss"]
        print(np.isfinite(loss).all(), "CPU:0" in model.weights[0].value.device)
    """, TFVK_DISABLE="storage16,storage8")
    assert out.split() == ["0", "3.0", "True", "True"]
    said = [line for line in err.splitlines() if "tensorflow-vulkan: no device:" in line]
    assert len(said) == 1 and "lacks 16-bit storage (storageBuffer16BitAccess), 8-bit storage" in said[0], err


def test_no_visible_device_is_no_reason_to_speak():
    out, err = run(COUNT, TFVK_VISIBLE_DEVICES="-1")
    # Where the wheel is installed, the library named by the environment is the second to be loaded, and says so.
    said = [line for line in err.splitlines() if "tensorflow-vulkan: " in line and "is loaded already" not in line]
    assert out.split() == ["0", "3.0"] and not said, err


def test_a_wrong_selection_is_explained():
    out, err = run(COUNT, TFVK_VISIBLE_DEVICES="99")
    assert out.split() == ["0", "3.0"] and "TFVK_VISIBLE_DEVICES" in err, err


def test_loading_twice():
    out, err = run(f"""
        from tensorflow.python.framework import load_library
        load_library.load_pluggable_device_library({library()!r})
        {COUNT}
    """)
    assert out.split() == ["1", "3.0"], err


def test_loading_another_copy(tmp_path):
    copy = tmp_path / "libtensorflow_vulkan_copy.so"
    shutil.copy(library(), copy)
    out, err = run(f"""
        from tensorflow.python.framework import load_library
        load_library.load_pluggable_device_library({str(copy)!r})
        {COUNT}
        with tf.device("/GPU:0"):
            print(tf.reverse(tf.constant([1.0, 2.0]), [0]).numpy().tolist())
    """)
    assert out.split()[:2] == ["1", "3.0"] and "[2.0, 1.0]" in out
    assert "another copy is loaded already" in err, err


def test_another_device_type():
    out, _ = run("""
        print(len(tf.config.list_physical_devices("XPU")), len(tf.config.list_physical_devices("GPU")))
        with tf.device("/XPU:0"):
            print(tf.reverse(tf.constant([1.0, 2.0]), [0]).device)
    """, TFVK_DEVICE_TYPE="XPU")
    assert out.split()[:2] == ["1", "0"] and "XPU:0" in out


def test_two_devices():
    run("""
        assert len(tf.config.list_physical_devices("GPU")) == 2
        x = np.arange(100000, dtype=np.float32)
        with tf.device("/GPU:0"):
            a = tf.reverse(tf.constant(x), [0])
        with tf.device("/GPU:1"):
            b = tf.reverse(tf.constant(x), [0])
            c = tf.identity(a)
            back = tf.reverse(c, [0])
        assert "GPU:0" in a.device and "GPU:1" in b.device and "GPU:1" in back.device
        assert np.array_equal(a.numpy(), b.numpy()) and np.array_equal(back.numpy(), x)
    """, TFVK_VISIBLE_DEVICES="0,0")
