// The exclusive prefix sum of one number an invocation over a workgroup of at most 256, without subgroups.
shared uint scan_shared[256];

uint group_scan(uint x, out uint total) {
    uint t = thread_index(), n = group_size();
    scan_shared[t] = x;
    barrier();
    for (uint d = 1u; d < n; d *= 2u) {
        uint y = t >= d ? scan_shared[t - d] : 0u;
        barrier();
        scan_shared[t] += y;
        barrier();
    }
    total = scan_shared[n - 1u];
    uint sum = scan_shared[t];
    barrier();
    return sum - x;
}
