//! Allocation: addresses, figures, running out, deferred freeing, churn.

use tfvk_device::{Code, Device, DevicePtr, owner_of};

use crate::common::*;

#[test]
fn addresses_belong_to_their_device() {
    let (d, e) = (open(), open());
    let a = d.allocate(10_000).unwrap();
    let b = e.allocate(0).unwrap();
    assert_eq!(a.0 % 256, 0);
    for offset in [0, 1, 9_999] {
        assert!(std::sync::Arc::ptr_eq(&owner_of(a.0 + offset).unwrap(), &d.0));
    }
    assert!(std::sync::Arc::ptr_eq(&owner_of(b.0).unwrap(), &e.0));
    assert!(owner_of(&a as *const _ as u64).is_none(), "the stack is nobody's");
    assert!(d.deallocate(a.offset(256)).is_err(), "not its start");
    assert!(d.deallocate(b).is_err(), "another device's");
    d.deallocate(a).unwrap();
    assert!(owner_of(a.0).is_none());
    assert!(d.deallocate(a).is_err(), "twice");
}

#[test]
fn out_of_memory_leaves_the_device_usable() {
    let d = open();
    let (free, total) = d.memory_usage();
    assert!(free <= total && total > 0);
    let e = d.allocate(1 << 50).unwrap_err();
    assert_eq!(e.code, Code::ResourceExhausted);
    assert!(e.message.contains(&(1u64 << 50).to_string()), "{e}");
    assert_eq!(d.allocate(u64::MAX).unwrap_err().code, Code::ResourceExhausted);

    // Until nothing is left; nothing is touched, so the host's memory is not at stake.
    let piece = (total / 8).min(d.adapter().limits.max_allocation);
    let mut held = Vec::new();
    let e = loop {
        match d.allocate(piece) {
            Ok(ptr) => held.push(ptr),
            Err(e) => break e,
        }
        assert!(held.len() < 1000, "there is always more");
    };
    assert_eq!(e.code, Code::ResourceExhausted);
    assert!(e.message.contains("free"), "{e}");
    assert!(!held.is_empty());
    held.into_iter().for_each(|p| d.deallocate(p).unwrap());

    let a = vector(&d, 100);
    write(&d, &a, &[1; 100]);
    launch_affine(&d, &a, &a, 5, 1);
    assert_eq!(read(&d, &a), [6; 100]);
}

/// Memory that work in flight still uses is freed only after it; and memory that waits to be freed is not "out of memory".
#[test]
fn freed_after_its_last_use() {
    let d = open();
    let n = 1 << 16;
    let out = vector(&d, n);
    let x: Vec<u32> = (0..n as u32).collect();
    for round in 0..30 {
        let a = vector(&d, n);
        write(&d, &a, &x);
        launch_affine(&d, &a, &out, 1, round);
        free(&d, &a);
        // Takes the freed memory's place, if it was freed too early.
        let b = vector(&d, n);
        d.stream().fill(ptr(&b), 4 * n as u64, 0xee).unwrap();
        free(&d, &b);
        if round % 7 == 0 {
            assert_eq!(read(&d, &out), x.iter().map(|v| v + round).collect::<Vec<_>>());
        }
    }
    let half = d.adapter().limits.device_memory / 2 + (64 << 20);
    if half <= d.adapter().limits.max_allocation {
        for _ in 0..4 {
            let big = d.allocate(half).unwrap();
            d.stream().fill(big, 1024, 1).unwrap();
            d.deallocate(big).unwrap();
        }
    }
}

#[test]
fn churn_does_not_grow() {
    // Other tests of this process allocate too.
    succeeds(&child("memory::child_churn", &[]));
}

#[test]
#[ignore = "a child process of churn_does_not_grow"]
fn child_churn() {
    let d = open();
    let round = |d: &Device| {
        for i in 0..200u64 {
            let held: Vec<DevicePtr> = (0..4).map(|k| d.allocate(1000 * (i % 17 + 1) + k).unwrap()).collect();
            d.stream().fill(held[1], 64, 1).unwrap();
            held.into_iter().for_each(|p| d.deallocate(p).unwrap());
            let pinned = d.allocate_pinned(5000).unwrap();
            d.free_pinned(pinned).unwrap();
            let event = d.stream().record_event().unwrap();
            if i % 10 == 0 {
                event.wait().unwrap();
            }
        }
        d.stream().synchronize().unwrap();
    };
    (0..3).for_each(|_| round(&d));
    let (allocated, process) = (d.memory_allocated(), resident());
    (0..10).for_each(|_| round(&d));
    assert_eq!(d.memory_allocated(), allocated);
    assert!(resident() < process + (1 << 20), "the process grew from {process} to {}", resident());
}

/// Resident bytes of this process.
#[cfg(not(windows))]
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    text.split(' ').nth(1).and_then(|n| n.parse::<u64>().ok()).unwrap_or(0) * 4096
}

/// Resident bytes of this process.
#[cfg(windows)]
fn resident() -> u64 {
    #[link(name = "kernel32")]
    unsafe extern "system" {
        fn GetCurrentProcess() -> *mut std::ffi::c_void;
        fn K32GetProcessMemoryInfo(process: *mut std::ffi::c_void, counters: *mut [u64; 9], bytes: u32) -> i32;
    }
    // PROCESS_MEMORY_COUNTERS: its size and a count of faults, then the peak and the current working set and six more.
    let mut counters = [0; 9];
    // SAFETY: the system writes the structure, of the size that is given.
    let known = unsafe { K32GetProcessMemoryInfo(GetCurrentProcess(), &mut counters, size_of_val(&counters) as u32) };
    assert_ne!(known, 0, "the system tells no working set");
    counters[2]
}

#[test]
fn devices_open_and_close() {
    for _ in 0..10 {
        let d = open();
        let a = vector(&d, 1000);
        write(&d, &a, &[3; 1000]);
        launch_affine(&d, &a, &a, 2, 0);
        // Dropped with work in flight and memory allocated.
        let event = d.stream().record_event().unwrap();
        drop(d);
        assert!(owner_of(ptr(&a).0).is_none() || event.is_complete().unwrap());
        event.wait().unwrap();
        drop(event);
        assert!(owner_of(ptr(&a).0).is_none());
    }
}
