"""Plain Keras programs, which know nothing of this package: `tfvk demo` runs them on the GPU and on the CPU."""
