"""A GPU device for a stock TensorFlow on any vendor's GPU, through Vulkan.

TensorFlow loads the plug-in by itself; nothing here has to be imported. This package holds the command `tfvk`
(`cli.py`) and what it needs. It imports TensorFlow only where a command runs it.
"""
__version__ = "0.1.0"
