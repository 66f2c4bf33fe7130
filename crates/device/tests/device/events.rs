//! Events, callbacks, timestamps, the flush timer, and a lost device.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use tfvk_device::Code;

use crate::common::*;

#[test]
fn an_event_comes_after_what_is_before_it() {
    let d = open();
    let first = d.stream().record_event().unwrap();
    assert!(first.is_complete().unwrap(), "nothing is before it");
    let a = vector(&d, 64);
    write(&d, &a, &[0; 64]);
    for i in 1..=100 {
        launch_affine(&d, &a, &a, 1, 1);
        let mut host = [0u32; 64];
        // SAFETY: `host` lives past the wait.
        unsafe { d.stream().download(host.as_mut_ptr().cast(), ptr(&a), 256) }.unwrap();
        let event = d.stream().record_event().unwrap();
        if i % 2 == 0 {
            while !event.is_complete().unwrap() {
                std::thread::yield_now();
            }
        } else {
            event.clone().wait().unwrap();
        }
        assert_eq!(host, [i; 64]);
        assert!(event.is_complete().unwrap());
    }
}

/// Nobody waits or polls: the timer hands the work over, the device's thread finishes the download.
#[test]
fn work_is_done_without_being_asked_for() {
    let d = open();
    let a = vector(&d, 64);
    write(&d, &a, &[4; 64]);
    launch_affine(&d, &a, &a, 2, 1);
    let host: Vec<AtomicU32> = (0..64).map(|_| AtomicU32::new(0)).collect();
    // SAFETY: `host` lives past the wait below, and atomics may be written to behind a shared reference.
    unsafe { d.stream().download(host.as_ptr() as *mut u8, ptr(&a), 256) }.unwrap();
    let end = Instant::now() + Duration::from_secs(20);
    while host[63].load(Ordering::Acquire) != 9 {
        assert!(Instant::now() < end, "the download never happened");
        std::thread::sleep(Duration::from_millis(1));
    }
    d.stream().synchronize().unwrap();
}

#[test]
fn callbacks_run_in_order_and_before_later_events() {
    let d = open();
    let a = vector(&d, 64);
    write(&d, &a, &[0; 64]);
    let (send, receive) = mpsc::channel();
    for i in 0..50u32 {
        launch_affine(&d, &a, &a, 1, 1);
        let send = send.clone();
        d.stream().on_complete(Box::new(move || send.send(i).unwrap())).unwrap();
    }
    d.stream().record_event().unwrap().wait().unwrap();
    assert_eq!(receive.try_iter().collect::<Vec<_>>(), (0..50).collect::<Vec<_>>());

    // A callback may record and wait for what is before it; a panic in one harms nobody.
    let done = Arc::new(AtomicU32::new(0));
    let (device, seen, at) = (d.0.clone(), done.clone(), ptr(&a));
    d.stream().on_complete(Box::new(|| panic!("on purpose"))).unwrap();
    let call = move || {
        let a = tfvk_device::Tensor::on_device(tfvk_device::DType::U32, [64].into(), at);
        launch_affine(&device, &a, &a, 1, 1);
        device.stream().synchronize().unwrap();
        seen.store(read(&device, &a)[0], Ordering::SeqCst);
    };
    d.stream().on_complete(Box::new(call)).unwrap();
    d.stream().synchronize().unwrap();
    assert_eq!(done.load(Ordering::SeqCst), 51);
}

#[test]
fn timestamps_grow() {
    let d = open();
    if !d.adapter().features.timestamps {
        return;
    }
    let a = vector(&d, 1 << 16);
    write(&d, &a, &vec![0; 1 << 16]);
    for _ in 0..3000 {
        let t0 = d.stream().timestamp().unwrap();
        drop(d.stream().timestamp().unwrap());
        let t1 = d.stream().timestamp().unwrap();
        if d.barriers() % 64 == 0 {
            assert!(t1.wait().unwrap() >= t0.wait().unwrap());
        }
    }
    let t0 = d.stream().timestamp().unwrap();
    for _ in 0..50 {
        launch_affine(&d, &a, &a, 1, 1);
    }
    let t1 = d.stream().timestamp().unwrap();
    let ns = t1.wait().unwrap() - t0.wait().unwrap();
    assert!(ns > 1000 && ns < 60_000_000_000, "{ns} ns for 50 launches");
}

#[test]
fn what_a_lost_device_did_not_bring_is_all_ones() {
    let d = open();
    let a = vector(&d, 64);
    write(&d, &a, &[7; 64]);
    // Downloads behind a callback wait for its return.
    let (release, held) = mpsc::channel::<()>();
    d.stream().on_complete(Box::new(move || _ = held.recv())).unwrap();
    let mut host = vec![0u8; 256];
    // SAFETY: `host` outlives the wait for the event.
    unsafe { d.stream().download(host.as_mut_ptr(), ptr(&a), 256) }.unwrap();
    let event = d.stream().record_event().unwrap();
    d.lose();
    assert!(event.is_complete().is_err());
    assert_eq!(host, [0xff; 256]);
    release.send(()).unwrap();
}

#[test]
fn a_lost_device_is_an_error_everywhere() {
    let d = open();
    let a = vector(&d, 64);
    write(&d, &a, &[0; 64]);
    let event = d.stream().record_event().unwrap();
    let (send, receive) = mpsc::channel();
    launch_affine(&d, &a, &a, 1, 1);
    d.stream().on_complete(Box::new(move || send.send(()).unwrap())).unwrap();
    d.lose();
    receive.recv_timeout(Duration::from_secs(20)).expect("who waits is called");
    let errors = [
        d.allocate(4).map(drop),
        d.deallocate(ptr(&a)),
        d.allocate_pinned(4).map(drop),
        d.stream().upload(ptr(&a), &[0; 4]),
        d.stream().read(&a).map(drop),
        d.stream().fill(ptr(&a), 4, 0),
        d.stream().record_event().map(drop),
        d.stream().synchronize(),
        d.stream().flush(),
        d.stream().timestamp().map(drop),
        event.wait(),
        event.is_complete().map(drop),
    ];
    for (i, e) in errors.into_iter().enumerate() {
        let e = e.expect_err(&format!("call {i}"));
        assert_eq!(e.code, Code::Unavailable, "call {i}: {e}");
        assert!(e.message.contains("lost"), "{e}");
    }
    drop(d);
    // Another device of the same adapter is not affected.
    let d = open();
    let a = vector(&d, 8);
    write(&d, &a, &[7; 8]);
    assert_eq!(read(&d, &a), [7; 8]);
}
