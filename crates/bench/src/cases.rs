//! The kernels' benchmarks, as a table: a node, its inputs, and the work that it does.

use tfvk_device::{DType, Result, Shape};
use tfvk_ops::local::{Attr, Local, Node, Value};

/// A benchmark of one op.
pub struct Case {
    /// Its name, as the peers' scripts have it.
    pub name: String,
    pub(crate) node: Node,
    pub(crate) inputs: Vec<Input>,
    /// Floating-point operations of one run.
    pub(crate) flops: Option<f64>,
    /// Bytes that one run must move.
    pub(crate) bytes: Option<f64>,
}

/// An input to make.
pub(crate) enum Input {
    /// Normal-like random values on the device.
    Random(DType, Shape),
    /// Random indices below a bound, on the device.
    Indices(i64, i64),
    /// int32 values in host memory.
    Host(Shape, Vec<i32>),
}

impl Input {
    pub(crate) fn make(&self, local: &Local) -> Result<Value> {
        match self {
            Input::Random(dtype, shape) => {
                local.upload(*dtype, shape.clone(), &random_bytes(*dtype, shape.num_elements() as usize))
            }
            Input::Indices(n, bound) => {
                let mut random = Random(7);
                let bytes: Vec<u8> = (0..*n).flat_map(|_| ((random.next() % *bound as u64) as i32).to_le_bytes()).collect();
                local.upload(DType::I32, [*n], &bytes)
            }
            Input::Host(shape, values) => Value::host(shape.clone(), values),
        }
    }
}

/// xorshift64*; the benchmarks need varied bits, not statistics.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11
    }

    /// In [-1, 1).
    fn float(&mut self) -> f32 {
        (self.next() & 0xFF_FFFF) as f32 / (1 << 23) as f32 - 1.0
    }
}

/// A block of random values, repeated: large inputs need not cost minutes of host time.
fn random_bytes(dtype: DType, n: usize) -> Vec<u8> {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let block: Vec<u8> = (0..n.min((1 << 20) + 7))
        .flat_map(|_| {
            let v = random.float();
            match dtype {
                DType::F16 => half(v).to_le_bytes().to_vec(),
                DType::BF16 => ((v.to_bits() >> 16) as u16).to_le_bytes().to_vec(),
                DType::F64 => f64::from(v).to_le_bytes().to_vec(),
                _ => v.to_le_bytes().to_vec(),
            }
        })
        .collect();
    block.iter().copied().cycle().take(n * dtype.size()).collect()
}

/// f32 to f16, truncated; for |v| < 1 only.
fn half(v: f32) -> u16 {
    let bits = v.to_bits();
    let exponent = ((bits >> 23) & 0xFF) as i32 - 112;
    let sign = ((bits >> 16) & 0x8000) as u16;
    if exponent <= 0 { sign } else { sign | (exponent as u16) << 10 | ((bits >> 13) & 0x3FF) as u16 }
}

fn random(dtype: DType, dims: &[i64]) -> Input {
    Input::Random(dtype, Shape::new(dims))
}

fn t(op: &str) -> Node {
    Node::new(op).dtype("T", DType::F32)
}

fn mib(case: &str, node: Node, inputs: Vec<Input>, bytes: i64) -> Case {
    Case { name: case.into(), node, inputs, flops: None, bytes: Some(bytes as f64) }
}

/// All cases; small ones if `quick`.
pub fn all(quick: bool) -> Vec<Case> {
    let mut cases = matmuls(quick);
    cases.extend(convolutions(quick));
    cases.extend(bandwidth(quick));
    cases
}

fn matmuls(quick: bool) -> Vec<Case> {
    let sizes: &[i64] = if quick { &[64] } else { &[512, 1024, 2048, 4096, 8192] };
    let types = [DType::F32, DType::F16, DType::BF16];
    let case = |(dtype, n): (DType, i64)| Case {
        name: format!("matmul_{dtype}_{n}"),
        node: Node::new("MatMul").dtype("T", dtype),
        inputs: vec![random(dtype, &[n, n]), random(dtype, &[n, n])],
        flops: Some(2.0 * (n as f64).powi(3)),
        bytes: None,
    };
    types.iter().flat_map(|&d| sizes.iter().map(move |&n| (d, n))).map(case).collect()
}

fn convolutions(quick: bool) -> Vec<Case> {
    let full = [(32, 64, 56, 64, 3, 1), (32, 256, 14, 256, 3, 1), (32, 3, 224, 64, 7, 2), (32, 128, 28, 512, 1, 1)];
    // ResNet-50's, in 16 bits.
    let narrow = [
        (64, 64, 56, 64, 3, 1),
        (64, 128, 28, 128, 3, 1),
        (64, 256, 14, 256, 3, 1),
        (64, 512, 7, 512, 3, 1),
        (64, 256, 56, 512, 1, 2),
        (64, 64, 56, 256, 1, 1),
        (64, 3, 224, 64, 7, 2),
    ];
    type Size = (i64, i64, i64, i64, i64, i64);
    let small: &[Size] = &[(1, 8, 8, 8, 3, 1)];
    let (full, narrow): (&[Size], &[Size]) = if quick { (small, small) } else { (&full, &narrow) };
    let all = full.iter().map(|s| (DType::F32, s)).chain(narrow.iter().map(|s| (DType::BF16, s)));
    let mut cases = Vec::new();
    for (dtype, &(n, c, h, k, r, s)) in all {
        let prefix = if dtype == DType::F32 { String::new() } else { format!("_{dtype}") };
        let (ho, strides) = (h / s, Attr::Ints(vec![1, s, s, 1]));
        let flops = Some(2.0 * (n * ho * ho * k * c * r * r) as f64);
        let name = |kind: &str| format!("conv{prefix}{kind}_{n}x{h}x{h}x{c}_k{k}_{r}x{r}s{s}");
        let node = |op: &str| {
            Node::new(op).dtype("T", dtype).attr("strides", strides.clone()).attr("padding", Attr::String("SAME".into()))
        };
        let (x, w, dy) = ([n, h, h, c], [r, r, c, k], [n, ho, ho, k]);
        let sizes = |dims: [i64; 4]| Input::Host(Shape::from([4]), dims.iter().map(|&d| d as i32).collect());
        cases.push(Case {
            name: name(""),
            node: node("Conv2D"),
            inputs: vec![random(dtype, &x), random(dtype, &w)],
            flops,
            bytes: None,
        });
        cases.push(Case {
            name: name("_grad_input"),
            node: node("Conv2DBackpropInput"),
            inputs: vec![sizes(x), random(dtype, &w), random(dtype, &dy)],
            flops,
            bytes: None,
        });
        cases.push(Case {
            name: name("_grad_filter"),
            node: node("Conv2DBackpropFilter"),
            inputs: vec![random(dtype, &x), sizes(w), random(dtype, &dy)],
            flops,
            bytes: None,
        });
    }
    cases
}

fn bandwidth(quick: bool) -> Vec<Case> {
    let (rows, columns) = if quick { (64, 96) } else { (65536, 4096) };
    let n = rows * columns;
    let sorted = if quick { 1 << 10 } else { 1 << 24 };
    let m = || random(DType::F32, &[rows, columns]);
    let flat = || random(DType::F32, &[n]);
    let half = || random(DType::F32, &[n / 2]);
    let host = |values: &[i32]| Input::Host(Shape::from([values.len() as i64]), values.to_vec());
    let reduce = || t("Sum").dtype("Tidx", DType::I32);
    vec![
        mib("add_f32_256M", t("AddV2"), vec![flat(), flat()], 12 * n),
        mib("copy_f32_256M", t("Pack").attr("N", Attr::Int(2)), vec![half(), half()], 8 * n),
        mib("gelu_tanh_part_256M", t("Tanh"), vec![flat()], 8 * n),
        mib("erf_256M", t("Erf"), vec![flat()], 8 * n),
        mib("sum_f32_256M", reduce(), vec![flat(), host(&[0])], 4 * n),
        mib("rowsum_65536x4096", reduce(), vec![m(), host(&[1])], 4 * n),
        mib("colsum_65536x4096", reduce(), vec![m(), host(&[0])], 4 * n),
        mib("softmax_65536x4096", t("Softmax"), vec![m()], 8 * n),
        mib("transpose_65536x4096", t("Transpose").dtype("Tperm", DType::I32), vec![m(), host(&[1, 0])], 8 * n),
        mib(
            "gather_rows_65536x4096",
            Node::new("GatherV2").dtype("Tparams", DType::F32).dtype("Tindices", DType::I32).dtype("Taxis", DType::I32),
            vec![m(), Input::Indices(rows, rows), Input::Host(Shape::scalar(), vec![0])],
            8 * n,
        ),
        mib("biasadd_65536x4096", t("BiasAdd"), vec![m(), random(DType::F32, &[columns])], 8 * n),
        Case {
            name: "sort_16M".into(),
            node: t("TopKV2"),
            inputs: vec![random(DType::F32, &[sorted]), Input::Host(Shape::scalar(), vec![sorted as i32])],
            flops: None,
            bytes: None,
        },
        mib(
            "random_uniform_256M",
            Node::new("RandomUniform").dtype("T", DType::I32).dtype("dtype", DType::F32),
            vec![host(&[rows as i32, columns as i32])],
            4 * n,
        ),
    ]
}
