//! What the device layer costs, as JSON lines: host time of a tiny launch (with and without a barrier each), launch and
//! wait, uploads and downloads of pageable and pinned memory. `cargo run --release --example launch_cost [megabytes]`.
//!
//! Each figure is the best of several rounds; `median` is beside it.

use std::sync::Arc;
use std::time::Instant;

use tfvk_device::{Args, Device, DevicePtr, Kernel, Result, visible_adapters};

fn main() {
    if let Err(e) = run() {
        eprintln!("{e}");
        std::process::exit(1);
    }
}

/// `dst[i] = src[i] * mul + add`, of the tests.
fn kernel() -> Kernel {
    let bytes = include_bytes!("../tests/device/kernels/affine.spv");
    Kernel::from_words("affine", bytes.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect())
}

/// Print the best and the median of the rounds' figures; `larger` is better or not.
fn report(name: &str, unit: &str, mut figures: Vec<f64>, larger: bool) {
    figures.sort_by(f64::total_cmp);
    if larger {
        figures.reverse();
    }
    println!(r#"{{"name":"{name}","unit":"{unit}","best":{:.3},"median":{:.3}}}"#, figures[0], figures[figures.len() / 2]);
}

fn run() -> Result<()> {
    let megabytes: usize = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(64);
    let adapter = visible_adapters()?.into_iter().next();
    let adapter = adapter.ok_or_else(|| tfvk_device::Error::invalid_argument("no adapter is visible"))?;
    println!(r#"{{"device":"{}","driver":"{}","kind":"{}"}}"#, adapter.name, adapter.driver, adapter.kind);
    let device = Device::open(&adapter)?;
    launches(&device, &kernel())?;
    copies(&device, megabytes << 20)
}

fn launches(d: &Arc<Device>, kernel: &Kernel) -> Result<()> {
    let stream = d.stream();
    let buffers: Vec<DevicePtr> = (0..64).map(|_| d.allocate(4096)).collect::<Result<_>>()?;
    let launch = |src: DevicePtr, dst: DevicePtr| {
        let mut args = Args::new();
        args.read_ptr(src, 4096)?.write_ptr(dst, 4096)?.u32(1024).u32(1).u32(1);
        stream.launch(kernel, &[64, 1, 1], &args, [16, 1, 1])
    };
    for &b in &buffers {
        stream.fill(b, 4096, 0)?;
    }
    launch(buffers[0], buffers[1])?;
    stream.synchronize()?;

    const N: usize = 10_000;
    let (mut barrier, mut free, mut total, mut wait, mut event) = (vec![], vec![], vec![], vec![], vec![]);
    for _ in 0..7 {
        let start = Instant::now();
        for i in 0..N {
            launch(buffers[i % 2], buffers[(i + 1) % 2])?;
        }
        barrier.push(start.elapsed().as_secs_f64() * 1e6 / N as f64);
        stream.synchronize()?;
        total.push(start.elapsed().as_secs_f64() * 1e6 / N as f64);

        let start = Instant::now();
        for i in 0..N {
            launch(buffers[0], buffers[1 + i % 63])?;
        }
        free.push(start.elapsed().as_secs_f64() * 1e6 / N as f64);
        stream.synchronize()?;

        let start = Instant::now();
        for i in 0..200 {
            launch(buffers[i % 2], buffers[(i + 1) % 2])?;
            stream.record_event()?.wait()?;
        }
        wait.push(start.elapsed().as_secs_f64() * 1e6 / 200.0);
        let start = Instant::now();
        for i in 0..200 {
            launch(buffers[i % 2], buffers[(i + 1) % 2])?;
            let done = stream.record_event()?;
            while !done.is_complete()? {}
        }
        event.push(start.elapsed().as_secs_f64() * 1e6 / 200.0);
    }
    report("launch_with_barrier_host", "us", barrier, false);
    report("launch_without_barrier_host", "us", free, false);
    report("launch_with_barrier_throughput", "us", total, false);
    report("launch_and_wait", "us", wait, false);
    report("launch_and_poll", "us", event, false);

    let start = Instant::now();
    for _ in 0..1_000_000 {
        let mut args = Args::new();
        std::hint::black_box(args.read_ptr(buffers[3], 4096)?.write_ptr(buffers[4], 4096)?.u32(1024).u32(1).u32(1));
    }
    report("arguments_host", "us", vec![start.elapsed().as_secs_f64()], false);
    buffers.into_iter().try_for_each(|b| d.deallocate(b))
}

fn copies(d: &Arc<Device>, n: usize) -> Result<()> {
    let stream = d.stream();
    let ptr = d.allocate(n as u64)?;
    let pinned = d.allocate_pinned(n as u64)?;
    // SAFETY: the allocation's bytes; the copies below that touch them are waited for.
    let pinned_host = unsafe { std::slice::from_raw_parts_mut(pinned, n) };
    pinned_host.fill(1);
    let mut pageable = vec![1u8; n];
    let (mut up, mut down, mut pinned_up, mut pinned_down) = (vec![], vec![], vec![], vec![]);
    let rate = |start: Instant| n as f64 / start.elapsed().as_secs_f64() / 1e9;
    for _ in 0..9 {
        let start = Instant::now();
        stream.upload(ptr, &pageable)?;
        stream.synchronize()?;
        up.push(rate(start));
        let start = Instant::now();
        // SAFETY: the vector lives past the wait.
        unsafe { stream.download(pageable.as_mut_ptr(), ptr, n as u64) }?;
        stream.synchronize()?;
        down.push(rate(start));
        let start = Instant::now();
        stream.upload(ptr, pinned_host)?;
        stream.synchronize()?;
        pinned_up.push(rate(start));
        let start = Instant::now();
        // SAFETY: as above.
        unsafe { stream.download(pinned, ptr, n as u64) }?;
        stream.synchronize()?;
        pinned_down.push(rate(start));
    }
    report("upload_pageable", "GB/s", up, true);
    report("download_pageable", "GB/s", down, true);
    report("upload_pinned", "GB/s", pinned_up, true);
    report("download_pinned", "GB/s", pinned_down, true);
    d.free_pinned(pinned)?;
    d.deallocate(ptr)
}
