// Matrices with everything outside a band of diagonals zeroed.
// variants: SIZE = 1 2 4 8 16
#include "prelude.glsl"
#include "copy/element.glsl"

// A negative bound is none.
PUSH_ARGS { Source src; Destination dst; uint n; uint rows; uint cols; int lower; int upper; } args;

void main() {
    uint i = global_index();
    if (i >= args.n) return;
    int col = int(i % args.cols), row = int(i / args.cols % args.rows);
    bool inside = (args.lower < 0 || row - col <= args.lower) && (args.upper < 0 || col - row <= args.upper);
    store(args.dst, int(i), inside ? load(args.src, int(i)) : WORD(0u));
}
