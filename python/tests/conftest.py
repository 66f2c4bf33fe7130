"""The tests of the command `tfvk`. `fake` stands in for the plug-in's library where a test needs other adapters."""
import os
import sys
from pathlib import Path

import pytest

from tensorflow_vulkan import library


@pytest.fixture
def fake(monkeypatch):
    """fake([devices], error): what library.devices() answers from now on."""

    def set_report(devices, error=None):
        monkeypatch.setattr(library, "devices", lambda lib=None: {"version": "0", "error": error, "devices": devices})

    return set_report


@pytest.fixture(scope="session")
def tfvk():
    """The installed command."""
    path = Path(sys.executable).with_name("tfvk")
    assert path.exists(), f"{path} is missing: `make setup` installs the wheel"
    return str(path)


@pytest.fixture
def env():
    """The environment without what a test might be disturbed by."""
    return {k: v for k, v in os.environ.items() if k not in ("TFVK_VISIBLE_DEVICES", "VK_DRIVER_FILES", "VK_ICD_FILENAMES")}
