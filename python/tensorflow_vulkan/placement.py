"""Which ops of a training step ran where, and which of those on the CPU should not have. Knows TensorFlow's node types only.

A row is [op, device type, element types, count]: the element types are those of the node's attributes, comma-separated.
"""
import collections

# What TensorFlow itself keeps in host memory in a step: the input pipeline's ends, a partition's edges, nodes that compute
# nothing, and those that look at a tensor's shape alone.
STRUCTURE = frozenset(
    "_Arg _Retval _DeviceArg _DeviceRetval _Send _Recv _HostSend _HostRecv NoOp Placeholder Assert ControlTrigger "
    "Shape ShapeN Size Rank IteratorGetNext IteratorGetNextAsOptional IteratorGetNextSync MakeIterator AnonymousIteratorV3 IteratorV2 "
    "OptionalFromValue OptionalGetValue OptionalHasValue OptionalNone "
    "PartitionedCall StatefulPartitionedCall If StatelessIf While StatelessWhile Case StatelessCase Switch Merge _SwitchN".split()
)
# Element types that live in host memory by TensorFlow's convention.
HOST_TYPES = frozenset(("int32", "string", "resource", "variant"))


def rows(metadata, only_with=None):
    """The rows of a RunMetadata. `only_with`: of those function graphs alone that contain this op."""
    from tensorflow.python.framework import dtypes

    count = collections.Counter()
    for group in metadata.function_graphs:
        nodes = [n for graph in group.partition_graphs for n in graph.node]
        if only_with and not any(n.op == only_with for n in nodes):
            continue
        # What keeps the partitions of a loop in step: nodes of these names, and the constant that enters them.
        loops = {n.name for n in nodes if n.name.startswith("_cloop")}
        loops.update(i for n in nodes if n.name in loops for i in n.input)
        for node in nodes:
            if node.op == "Const" and "/ctrl/_" in node.name or node.name in loops:
                continue  # stands for a control edge between two partitions
            types = set()
            for value in node.attr.values():
                listed = list(value.list.type) if value.WhichOneof("value") == "list" else []
                types.update(dtypes.as_dtype(t).name for t in ([value.type] if value.type else listed))
            device = node.device.rsplit("device:", 1)[-1].split(":")[0] if "device:" in node.device else "CPU"
            count[node.op, device, ",".join(sorted(types))] += 1
    return [[*key, n] for key, n in sorted(count.items())]


def is_host_work(op, types):
    """Whether a node belongs on the CPU even where there is a GPU."""
    if op in STRUCTURE:
        return True
    return bool(types) and set(types.split(",")) <= HOST_TYPES


def strays(table):
    """The rows that ran on the CPU and should have run on the device."""
    return [r for r in table if r[1] == "CPU" and not is_host_work(r[0], r[2])]


def by_device(table):
    """{device type: {op: count}} without the nodes that compute nothing."""
    out = collections.defaultdict(collections.Counter)
    for op, device, _, n in table:
        if op not in STRUCTURE:
            out[device][op] += n
    return out
