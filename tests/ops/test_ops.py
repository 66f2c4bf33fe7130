"""Every op case x dtype on the device under test against TensorFlow's CPU: one test each (see harness.py)."""
import pytest

import harness


@pytest.fixture(scope="session")
def known():
    return harness.Known()


def test_device_is_there():
    kind = harness.tf.DeviceSpec.from_string(harness.DEVICE).device_type
    assert harness.tf.config.list_physical_devices(kind), f"TensorFlow has no {kind} device: is the plug-in installed, is there an adapter?"


@pytest.mark.parametrize("item", [pytest.param(i, id=i.id) for i in harness.items()])
def test_op(item, known):
    problems = harness.verdict(item, known)
    assert not problems, "\n" + "\n".join(problems)
