//! The device's benchmarks: launch cost and copies, by the host's clock.

use std::time::Instant;

use tfvk_device::{DType, Result};
use tfvk_ops::local::{Local, Node};

pub(crate) struct DeviceCase {
    pub name: &'static str,
    /// Small sizes if the second argument is set; returns JSON fields.
    pub run: fn(&Local, bool) -> Result<String>,
}

pub(crate) fn all() -> &'static [DeviceCase] {
    &[
        DeviceCase { name: "tiny_add_launch", run: tiny_add },
        DeviceCase { name: "launch_and_wait", run: launch_and_wait },
        DeviceCase { name: "upload_64M_pageable", run: |l, q| copy(l, q, false, true) },
        DeviceCase { name: "upload_64M_pinned", run: |l, q| copy(l, q, true, true) },
        DeviceCase { name: "download_64M_pageable", run: |l, q| copy(l, q, false, false) },
        DeviceCase { name: "download_64M_pinned", run: |l, q| copy(l, q, true, false) },
        DeviceCase { name: "upload_64M_beside_kernels", run: upload_beside_kernels },
    ]
}

/// 10,000 additions of 8 elements in a row, each depending on the one before: the host's time for each.
fn tiny_add(local: &Local, quick: bool) -> Result<String> {
    let launches = if quick { 500 } else { 10_000 };
    let node = local.prepare(&Node::new("AddV2").dtype("T", DType::F32))?;
    let mut x = local.upload(DType::F32, [8], &[0; 32])?;
    let one = local.upload(DType::F32, [8], &[0; 32])?;
    for _ in 0..50 {
        x = local.execute(&node, &[x, one.clone()])?.remove(0);
    }
    local.device().stream().synchronize()?;
    let start = Instant::now();
    for _ in 0..launches {
        x = local.execute(&node, &[x, one.clone()])?.remove(0);
    }
    let host = start.elapsed().as_secs_f64();
    local.device().stream().synchronize()?;
    let total = start.elapsed().as_secs_f64();
    let us = |s: f64| s * 1e6 / f64::from(launches);
    Ok(format!("\"ms\": {:.5}, \"host_us\": {:.2}, \"total_us\": {:.2}", us(total) / 1e3, us(host), us(total)))
}

/// One launch and a wait for it.
fn launch_and_wait(local: &Local, quick: bool) -> Result<String> {
    let runs = if quick { 20 } else { 1000 };
    let node = local.prepare(&Node::new("AddV2").dtype("T", DType::F32))?;
    let x = local.upload(DType::F32, [8], &[0; 32])?;
    let start = Instant::now();
    for _ in 0..runs {
        local.execute(&node, &[x.clone(), x.clone()])?;
        local.device().stream().record_event()?.wait()?;
    }
    Ok(format!("\"ms\": {:.5}", start.elapsed().as_secs_f64() * 1e3 / f64::from(runs)))
}

/// A 64 MiB copy and a wait for it: the best of a few, in GB/s.
fn copy(local: &Local, quick: bool, pinned: bool, upload: bool) -> Result<String> {
    let bytes: usize = if quick { 1 << 20 } else { 64 << 20 };
    let device = local.device();
    let value = local.empty(DType::U8, [bytes as i64])?;
    let target = value.tensor().device_ptr()?;
    let mut pageable = vec![1u8; if pinned { 0 } else { bytes }];
    let host = if pinned { device.allocate_pinned(bytes as u64)? } else { pageable.as_mut_ptr() };
    let mut best = f64::MAX;
    for _ in 0..8 {
        let start = Instant::now();
        // SAFETY: `host` has `bytes` bytes, lives to the end of this function, and each copy is waited for before the next.
        unsafe {
            if upload {
                device.stream().upload(target, std::slice::from_raw_parts(host, bytes))?;
            } else {
                device.stream().download(host, target, bytes as u64)?;
            }
        }
        device.stream().synchronize()?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    if pinned {
        device.free_pinned(host)?;
    }
    Ok(format!("\"ms\": {:.5}, \"gbs\": {:.1}", best * 1e3, bytes as f64 / best / 1e9))
}

/// A pinned 64 MiB upload among kernels that do not need it: how much of the shorter of the two the longer hides.
fn upload_beside_kernels(local: &Local, quick: bool) -> Result<String> {
    let (bytes, n): (usize, i64) = if quick { (1 << 20, 1 << 14) } else { (64 << 20, 1 << 26) };
    let (device, stream) = (local.device(), local.device().stream());
    let node = local.prepare(&Node::new("AddV2").dtype("T", DType::F32))?;
    let x = local.upload(DType::F32, [n], &vec![0; 4 * n as usize])?;
    let value = local.empty(DType::U8, [bytes as i64])?;
    let target = value.tensor().device_ptr()?;
    let host = device.allocate_pinned(bytes as u64)?;
    let part = bytes / 8;
    let time = |kernels: bool, upload: bool| -> Result<f64> {
        let mut best = f64::MAX;
        for _ in 0..5 {
            stream.synchronize()?;
            let start = Instant::now();
            for i in 0..8 {
                if upload {
                    // SAFETY: inside the pinned memory, which is freed after the last wait.
                    let source = unsafe { std::slice::from_raw_parts(host.add(i * part), part) };
                    stream.upload(target.offset((i * part) as u64), source)?;
                }
                if kernels {
                    local.execute(&node, &[x.clone(), x.clone()])?;
                }
            }
            stream.synchronize()?;
            best = best.min(start.elapsed().as_secs_f64() * 1e3);
        }
        Ok(best)
    };
    let (kernels, upload, both) = (time(true, false)?, time(false, true)?, time(true, true)?);
    device.free_pinned(host)?;
    let hidden = (kernels + upload - both) / kernels.min(upload);
    Ok(format!("\"ms\": {both:.4}, \"kernels_ms\": {kernels:.4}, \"upload_ms\": {upload:.4}, \"hidden\": {hidden:.2}"))
}
