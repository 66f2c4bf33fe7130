// The type that products are accumulated in (that of TC, computed), and four of them. TC is the result's type.
#define ACC TC
#if TC_HAS_VEC4
#define ACC4 TC_VEC4
#else
#define ACC4 ACC[4]
#endif

#if TC_IS_COMPLEX
#define ACC_ZERO ACC(0)
ACC madd(ACC a, ACC b, ACC c) { return c + ACC(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
ACC4 madd4(ACC a, ACC4 b, ACC4 c) { return ACC4(madd(a, b[0], c[0]), madd(a, b[1], c[1]), madd(a, b[2], c[2]), madd(a, b[3], c[3])); }
ACC4 acc4(ACC x) { return ACC4(x, x, x, x); }
#else
#define ACC_ZERO ACC(0)
#if TC_IS_FLOAT
ACC madd(ACC a, ACC b, ACC c) { return fma(a, b, c); }
ACC4 madd4(ACC a, ACC4 b, ACC4 c) { return fma(ACC4(a), b, c); }
#else
ACC madd(ACC a, ACC b, ACC c) { return c + a * b; }
ACC4 madd4(ACC a, ACC4 b, ACC4 c) { return c + a * b; }
#endif
ACC4 acc4(ACC x) { return ACC4(x); }
#endif

// Sums of a part of K, before they are added up: elements as they are accumulated.
#if TC_ID == DT_c128
#define ACC_LOG2 4
#elif TC_ID == DT_f64 || TC_ID == DT_i64 || TC_ID == DT_u64 || TC_ID == DT_c64
#define ACC_LOG2 3
#else
#define ACC_LOG2 2
#endif
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer Partial { ACC v[]; };
Partial partial_at(Partial p, uint row, uint stride) { return Partial(tfvk_offset(uvec2(p), row, stride, ACC_LOG2)); }
