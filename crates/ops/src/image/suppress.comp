// Greedy selection of boxes that do not overlap much. The boxes come in descending order of their scores.
//   gather  a thread a box: corners and area in order; whether its score counts
//   select  one workgroup: takes the best box that is left, drops what overlaps it, and so on
// variants: T = f32; U = u32; I = i32; KIND = gather select
#include "prelude.glsl"
#include "group.glsl"

PUSH_ARGS {
    READ(T, boxes);         // [n, 4]: y1, x1, y2, x2, corners in any order
    READ(T, scores);
    READ(U, order);         // numbers of the boxes, best score first
    READ_WRITE(T, sorted);  // [n, 5]: least y, least x, greatest y, greatest x, area
    READ_WRITE(U, dropped); // [n]
    WRITE(I, selected);     // [most]
    WRITE(U, count);        // [1]
    uint n, most;
    T overlap, score;
} args;

#if KIND == KIND_gather
void main() {
    uint i = global_index();
    if (i >= args.n) return;
    uint from = LOAD(U, args.order, i);
    T a = LOAD(T, args.boxes, 4 * from), b = LOAD(T, args.boxes, 4 * from + 1), c = LOAD(T, args.boxes, 4 * from + 2), d = LOAD(T, args.boxes, 4 * from + 3);
    T y = min(a, c), x = min(b, d), y2 = max(a, c), x2 = max(b, d);
    STORE(T, args.sorted, 5 * i, y);
    STORE(T, args.sorted, 5 * i + 1, x);
    STORE(T, args.sorted, 5 * i + 2, y2);
    STORE(T, args.sorted, 5 * i + 3, x2);
    precise T area = (y2 - y) * (x2 - x);
    STORE(T, args.sorted, 5 * i + 4, area);
    STORE(U, args.dropped, i, LOAD(T, args.scores, from) > args.score ? 0u : 1u);
}

#else
uint least(uint a, uint b) { return min(a, b); }
GROUP_REDUCE(group_least, uint, least)

struct Box {
    T y, x, y2, x2, area;
};

Box box(uint i) {
    return Box(LOAD_OUT(T, args.sorted, 5 * i), LOAD_OUT(T, args.sorted, 5 * i + 1), LOAD_OUT(T, args.sorted, 5 * i + 2), LOAD_OUT(T, args.sorted, 5 * i + 3), LOAD_OUT(T, args.sorted, 5 * i + 4));
}

bool overlaps(Box a, Box b) {
    if (a.area <= T(0) || b.area <= T(0)) return T(0) > args.overlap;
    precise T high = max(min(a.y2, b.y2) - max(a.y, b.y), T(0)), wide = max(min(a.x2, b.x2) - max(a.x, b.x), T(0));
    precise T shared_area = high * wide;
    precise T all = a.area + b.area - shared_area;
    precise T limit = args.overlap * all;
    return shared_area > limit;
}

void main() {
    if (group_index() != 0) return;
    // A thread looks only at the boxes whose number leaves its own as the remainder.
    uint t = thread_index(), threads = group_size(), found = 0;
    uint next = args.n;
    for (uint i = t; i < args.n; i += threads) {
        if (LOAD_OUT(U, args.dropped, i) == 0u) {
            next = i;
            break;
        }
    }
    next = group_least(next, LANES_X);
    while (found < args.most && next < args.n) {
        if (t == 0) STORE(I, args.selected, found, int(LOAD(U, args.order, next)));
        found++;
        Box best = box(next);
        uint left = args.n;
        for (uint i = next - next % threads + t; i < args.n; i += threads) {
            if (i <= next || LOAD_OUT(U, args.dropped, i) != 0u) continue;
            if (overlaps(best, box(i))) {
                STORE(U, args.dropped, i, 1u);
            } else {
                left = min(left, i);
            }
        }
        next = group_least(left, LANES_X);
    }
    if (t == 0) STORE(U, args.count, 0, found);
}
#endif
