"""`python -m tensorflow_vulkan` is `tfvk`."""
import sys

from tensorflow_vulkan.cli import main

sys.exit(main())
