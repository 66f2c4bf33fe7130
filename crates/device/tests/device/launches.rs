//! Launches: order, hazards, constants, argument blocks, errors.

use tfvk_device::{Args, Code, DType, Kernel, Tensor};

use crate::common::*;

#[test]
fn launch_and_read() {
    let d = open();
    let (a, b) = (vector(&d, 1000), vector(&d, 1000));
    let x: Vec<u32> = (0..1000).collect();
    write(&d, &a, &x);
    launch_affine(&d, &a, &b, 3, 7);
    assert_eq!(read(&d, &b), x.iter().map(|v| v * 3 + 7).collect::<Vec<_>>());
}

/// A chain through two buffers: every launch depends on the one before.
#[test]
fn dependent_launches_run_in_order() {
    let d = open();
    let (a, b) = (vector(&d, 300), vector(&d, 300));
    write(&d, &a, &[1; 300]);
    let before = d.barriers();
    let mut expected = 1u32;
    for i in 0..500u32 {
        let (from, to) = if i % 2 == 0 { (&a, &b) } else { (&b, &a) };
        launch_affine(&d, from, to, 3, i);
        expected = expected.wrapping_mul(3).wrapping_add(i);
    }
    assert!(d.barriers() - before >= 499, "each depends on the one before");
    assert_eq!(read(&d, &a), vec![expected; 300]);
}

#[test]
fn independent_launches_need_no_barrier() {
    let d = open();
    let a = vector(&d, 256);
    write(&d, &a, &[5; 256]);
    d.stream().synchronize().unwrap();
    let out: Vec<Tensor> = (0..20).map(|_| vector(&d, 256)).collect();
    // One barrier opens the batch. The flush timer cuts it where this thread was not running for a while: not every time.
    let cut = (0..100).all(|_| {
        let before = d.barriers();
        for (i, o) in out.iter().enumerate() {
            launch_affine(&d, &a, o, 1, i as u32);
        }
        let barriers = d.barriers() - before;
        d.stream().synchronize().unwrap();
        barriers > 1
    });
    assert!(!cut, "twenty independent launches always have a barrier between them");
    for (i, o) in out.iter().enumerate() {
        assert_eq!(read(&d, o), vec![5 + i as u32; 256]);
    }
}

#[test]
fn a_hundred_thousand_launches() {
    let d = open();
    let (a, b) = (vector(&d, 4), vector(&d, 4));
    write(&d, &a, &[0; 4]);
    for i in 0..100_000u32 {
        let (from, to) = if i % 2 == 0 { (&a, &b) } else { (&b, &a) };
        launch_affine(&d, from, to, 1, 1);
    }
    assert_eq!(read(&d, &a), [100_000; 4]);
}

#[test]
fn linear_groups_fold() {
    let mut adapter = adapter();
    adapter.limits.max_groups = [7, 5, 200];
    let d = Checked(tfvk_device::Device::open(&adapter).unwrap());
    let n = 64 * 900 + 3;
    let (a, b) = (vector(&d, n), vector(&d, n));
    let x: Vec<u32> = (0..n as u32).collect();
    write(&d, &a, &x);
    launch_affine(&d, &a, &b, 1, 1);
    assert_eq!(read(&d, &b), x.iter().map(|v| v + 1).collect::<Vec<_>>());
}

#[test]
fn large_argument_blocks_go_through_memory() {
    let d = open();
    let k = large();
    let out: Vec<Tensor> = (0..8).map(|_| vector(&d, 100)).collect();
    for round in 0..2000u32 {
        let mut args = Args::new();
        args.write(&out[round as usize % 8]).unwrap().u32(100);
        for i in 0..100 {
            args.u32(i * round);
        }
        d.stream().launch(&k, &[128, 1, 1], &args, [1, 1, 1]).unwrap();
    }
    for (i, o) in out.iter().enumerate() {
        assert_eq!(read(&d, o), (0..100).map(|v| v * (1992 + i as u32)).collect::<Vec<_>>());
    }
}

#[test]
fn several_threads_record() {
    let d = open();
    std::thread::scope(|s| {
        for t in 0..4u32 {
            let d = &d;
            s.spawn(move || {
                for round in 0..20u32 {
                    let (a, b) = (vector(d, 500), vector(d, 500));
                    let x: Vec<u32> = (0..500).map(|i| i * t + round).collect();
                    write(d, &a, &x);
                    launch_affine(d, &a, &b, 2, t);
                    launch_affine(d, &b, &a, 2, t);
                    assert_eq!(read(d, &a), x.iter().map(|v| v * 4 + 3 * t).collect::<Vec<_>>());
                    free(d, &a);
                    free(d, &b);
                }
            });
        }
    });
}

#[test]
fn errors_name_kernel_and_reason() {
    let d = open();
    let a = vector(&d, 64);
    let mut args = Args::new();
    args.read(&a).unwrap().write(&a).unwrap().u32(64).u32(1).u32(1);
    let (k, stream) = (affine(), d.stream());
    let most = d.adapter().limits.max_groups;

    stream.launch(k, &[64, 1, 1], &args, [0, 1, 1]).expect("no groups, no work");
    let e = stream.launch(k, &[64, 1, 1], &args, [1, most[1] + 1, 1]).unwrap_err();
    assert!(e.message.contains("affine") && e.message.contains("along y"), "{e}");
    let e = stream.launch(k, &[1 << 20, 1, 1], &args, [1, 1, 1]).unwrap_err();
    assert_eq!(e.code, Code::Unimplemented);
    assert!(e.message.contains("affine") && e.message.contains("along x") && e.message.contains(&d.adapter().name), "{e}");
    let e = stream.launch(&Kernel::from_words("rubbish", vec![1, 2, 3]), &[], &args, [1, 1, 1]).unwrap_err();
    assert!(e.message.contains("rubbish"), "{e}");
    let mut odd = Args::new();
    odd.bytes(&[1]);
    assert!(stream.launch(k, &[64, 1, 1], &odd, [1, 1, 1]).unwrap_err().message.contains("multiple of 4"));

    let other = open();
    let e = other.stream().launch(k, &[64, 1, 1], &args, [1, 1, 1]).unwrap_err();
    assert!(e.message.contains("another device"), "{e}");
    // And after all that the device works.
    write(&d, &a, &[1; 64]);
    launch_affine(&d, &a, &a, 2, 1);
    assert_eq!(read(&d, &a), [3; 64]);
}

#[test]
fn capabilities_and_shared_memory_are_checked() {
    let mut adapter = adapter();
    adapter.features.f64 = false;
    adapter.limits.shared_memory = 16 << 10;
    let d = Checked(tfvk_device::Device::open(&adapter).unwrap());
    let a = Tensor::on_device(DType::U32, [4].into(), d.allocate(16).unwrap());
    let mut args = Args::new();
    args.write(&a).unwrap();
    let e = d.stream().launch(&double(), &[1, 1, 1], &args, [1, 1, 1]).unwrap_err();
    assert_eq!(e.code, Code::Unimplemented);
    assert!(e.message.contains("double") && e.message.contains("shaderFloat64"), "{e}");

    write(&d, &a, &[1, 9, 0, 1]);
    d.stream().launch(&shared(), &[1, 1, 1, 512], &args, [1, 1, 1]).unwrap();
    assert_eq!(read(&d, &a), [1, 9, 9, 1]);
    let e = d.stream().launch(&shared(), &[1, 1, 1, 513], &args, [1, 1, 1]).unwrap_err();
    assert!(e.message.contains("16416") && e.message.contains("16384"), "{e}");
    // Each axis is within its limit, their product is not.
    let most = adapter.limits.max_group_size[0].min(adapter.limits.max_invocations);
    let e = d.stream().launch(&shared(), &[most, 4, 1, 4], &args, [1, 1, 1]).unwrap_err();
    assert!(e.message.contains(&format!("{} invocations", 4 * most)), "{e}");
}

#[test]
fn subgroup_sizes() {
    let d = open();
    let a = vector(&d, 1);
    let mut args = Args::new();
    args.write(&a).unwrap();
    let (low, high) = d.adapter().features.subgroup_size_range;
    let mut size = low;
    while size <= high {
        let k = subgroup_size().with_subgroup_size(size);
        d.stream().launch(&k, &[64, 1, 1], &args, [1, 1, 1]).unwrap();
        assert_eq!(read(&d, &a), [size]);
        size *= 2;
    }
    let k = subgroup_size().with_subgroup_size(high * 2);
    let e = d.stream().launch(&k, &[64, 1, 1], &args, [1, 1, 1]).unwrap_err();
    assert_eq!(e.code, Code::Unimplemented);
}

/// With TFVK_PROFILE the same results, and a table of what ran.
#[test]
fn a_profile_lists_every_launch() {
    let output = child("launches::child_profiled", &[("TFVK_PROFILE", "1")]);
    succeeds(&output);
    let text = String::from_utf8_lossy(&output.stderr);
    let row = text.lines().find(|l| l.contains("affine")).unwrap_or_else(|| panic!("no row of the kernel: {text}"));
    assert_eq!(row.split_whitespace().nth(3), Some("4000"), "{row}");
}

#[test]
#[ignore = "a child process of a_profile_lists_every_launch"]
fn child_profiled() {
    let d = open();
    let (a, b) = (vector(&d, 4), vector(&d, 4));
    write(&d, &a, &[0; 4]);
    for i in 0..4000 {
        let (from, to) = if i % 2 == 0 { (&a, &b) } else { (&b, &a) };
        launch_affine(&d, from, to, 1, 1);
    }
    assert_eq!(read(&d, &a), [4000; 4]);
}
