"""The command `tfvk`: reads its arguments and calls the module of the command."""
import argparse
import sys

from tensorflow_vulkan import __version__


def parser():
    p = argparse.ArgumentParser(prog="tfvk", description="TensorFlow on any Vulkan GPU: what is there, what is wrong, how fast it is.")
    p.add_argument("--version", action="version", version=__version__)
    commands = p.add_subparsers(dest="command", required=True)
    c = commands.add_parser("devices", help="the Vulkan adapters and which of them TensorFlow will see")
    c.add_argument("--json", action="store_true")
    c = commands.add_parser("doctor", help="finds and explains what is wrong")
    c.add_argument("--json", action="store_true")
    c = commands.add_parser("bench", help="times of kernels, launches and copies, without TensorFlow")
    c.add_argument("--json", action="store_true", help="JSON lines")
    c.add_argument("--quick", action="store_true", help="small sizes, to see that they run")
    c.add_argument("name", nargs="?", default="", help="only benchmarks whose names contain this")
    c = commands.add_parser("demo", help="trains two small Keras models on the GPU and on the CPU and compares")
    c.add_argument("--only", choices=("cnn", "vit"), help="one of the two")
    return p


def main(argv=None):
    a = parser().parse_args(argv)
    try:
        if a.command == "devices":
            from tensorflow_vulkan import devices

            return devices.run(a.json)
        if a.command == "doctor":
            from tensorflow_vulkan import doctor

            return doctor.run(a.json)
        if a.command == "bench":
            from tensorflow_vulkan import bench

            return bench.run(a.name, a.quick, a.json)
        from tensorflow_vulkan import demo

        return demo.run([a.only] if a.only else None)
    except BrokenPipeError:
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
