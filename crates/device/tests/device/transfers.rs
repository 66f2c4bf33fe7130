//! Copies on the transfer queue, beside other work: whatever they overtake or are overtaken by, memory is as if everything
//! ran in the order of the calls. Where the adapter has no such queue, the one queue stands in for it.

use tfvk_device::{AdapterKind, DType, Device, DevicePtr, Tensor};

use crate::common::*;

/// Elements of a buffer, and of the least range that goes to the transfer queue.
const N: usize = 1 << 18;
const LONG: usize = 1 << 16;
const BUFFERS: usize = 3;

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }

    /// A range of elements, often a long one.
    fn range(&mut self) -> (usize, usize) {
        let n = if self.below(3) > 0 { LONG + self.below(N - LONG) } else { 1 + self.below(1000) };
        (self.below(N - n + 1), n)
    }
}

fn part(base: DevicePtr, start: usize, n: usize) -> Tensor {
    Tensor::on_device(DType::U32, [n as i64].into(), base.offset(4 * start as u64))
}

#[test]
fn memory_is_as_if_in_order() {
    succeeds(&child("transfers::child_random_programs", &[("TFVK_EMULATE", "transfer")]));
}

#[test]
#[ignore = "run by memory_is_as_if_in_order"]
fn child_random_programs() {
    let d = open();
    assert!(d.adapter().features.transfer_queue, "its own or an emulated one");
    for seed in 0..6 {
        random_program(&d, &mut Random(seed), 150);
    }
}

/// Uploads, downloads, fills, copies and launches on a few buffers, some of which are freed meanwhile.
fn random_program(d: &Device, random: &mut Random, steps: usize) {
    let pinned = d.allocate_pinned(4 * N as u64).unwrap();
    let mut device: Vec<DevicePtr> = (0..BUFFERS).map(|_| d.allocate(4 * N as u64).unwrap()).collect();
    let mut host = vec![vec![0u32; N]; BUFFERS];
    device.iter().for_each(|&p| d.stream().fill(p, 4 * N as u64, 0).unwrap());
    let mut downloads: Vec<(Vec<u8>, Vec<u32>)> = Vec::new();
    // Pinned memory is as the GPU has it; the host may write to it once what uses it is over.
    let mut pinned_free = d.stream().record_event().unwrap();
    for step in 0..steps {
        let (to, from) = (random.below(BUFFERS), random.below(BUFFERS));
        let (start, n) = random.range();
        let values: Vec<u32> = (0..n).map(|i| (step * 7919 + i * 31) as u32).collect();
        match random.below(8) {
            0 | 1 => {
                d.stream().upload(device[to].offset(4 * start as u64), &bytes(&values)).unwrap();
                host[to][start..start + n].copy_from_slice(&values);
            }
            2 => {
                pinned_free.wait().unwrap();
                // SAFETY: the allocation is as large, and nothing that uses it is under way.
                let view = unsafe { std::slice::from_raw_parts_mut(pinned, 4 * n) };
                view.copy_from_slice(&bytes(&values));
                d.stream().upload(device[to].offset(4 * start as u64), view).unwrap();
                pinned_free = d.stream().record_event().unwrap();
                host[to][start..start + n].copy_from_slice(&values);
            }
            3 | 4 => {
                let mut back = vec![0u8; 4 * n];
                // SAFETY: `back` lives until the last wait.
                unsafe { d.stream().download(back.as_mut_ptr(), device[from].offset(4 * start as u64), 4 * n as u64) }.unwrap();
                downloads.push((back, host[from][start..start + n].to_vec()));
            }
            5 => {
                d.stream().fill_u32(device[to].offset(4 * start as u64), 4 * n as u64, step as u32).unwrap();
                host[to][start..start + n].fill(step as u32);
            }
            6 if to != from => {
                let (src, dst) = (part(device[from], start, n), part(device[to], start, n));
                launch_affine(d, &src, &dst, 3, step as u32);
                let computed = |x: &u32| x.wrapping_mul(3).wrapping_add(step as u32);
                let computed: Vec<u32> = host[from][start..start + n].iter().map(computed).collect();
                host[to][start..start + n].copy_from_slice(&computed);
            }
            _ => {
                // Memory that copies may still be at work on is freed, and what takes its place is cleared.
                d.deallocate(device[to]).unwrap();
                device[to] = d.allocate(4 * N as u64).unwrap();
                d.stream().fill(device[to], 4 * N as u64, 0).unwrap();
                host[to].fill(0);
            }
        }
    }
    for (p, expected) in device.iter().zip(&host) {
        assert!(read(d, &part(*p, 0, N)) == *expected, "a buffer differs");
    }
    // Everything recorded before the last read is over by now.
    for (i, (got, expected)) in downloads.iter().enumerate() {
        assert!(*got == bytes(expected), "download {i} differs");
    }
    device.iter().for_each(|&p| d.deallocate(p).unwrap());
    d.free_pinned(pinned).unwrap();
}

/// Long work before a copy, long copies before work: whatever does not wait for the other is seen in the memory.
#[test]
fn each_queue_waits_for_the_other() {
    succeeds(&child("transfers::child_waits", &[("TFVK_EMULATE", "transfer")]));
}

#[test]
#[ignore = "run by each_queue_waits_for_the_other"]
fn child_waits() {
    let d = open();
    let n: usize = if d.adapter().kind == AdapterKind::Software { 1 << 17 } else { 1 << 24 };
    let (a, b) = (vector(&d, n), vector(&d, n));
    let size = 4 * n as u64;
    let [ones, back] = [1u8, 0].map(|byte| {
        let p = d.allocate_pinned(size).unwrap();
        // SAFETY: the allocation is as large, and nothing uses it yet.
        let all = unsafe { std::slice::from_raw_parts_mut(p, 4 * n) };
        all.fill(byte);
        all
    });
    let one = u32::from_ne_bytes([1; 4]);
    for round in 0..8u32 {
        // An upload must not pass the launches that wrote there.
        for i in 0..20 {
            launch_affine(&d, &b, &a, 1, i);
        }
        d.stream().upload(ptr(&a), ones).unwrap();
        // A launch must not pass the upload of what it reads.
        launch_affine(&d, &a, &b, 1, round);
        assert!(read(&d, &b).iter().all(|&x| x == one + round), "an upload and launches, round {round}");
        // A launch must not pass the download of what it overwrites.
        // SAFETY: `back` lives past the wait.
        unsafe { d.stream().download(back.as_mut_ptr(), ptr(&b), size) }.unwrap();
        launch_affine(&d, &a, &b, 0, 7);
        d.stream().synchronize().unwrap();
        let back = back.chunks_exact(4).map(|c| u32::from_ne_bytes(c.try_into().unwrap()));
        assert!(back.into_iter().all(|x| x == one + round), "a download and a launch, round {round}");
    }
    free(&d, &a);
    free(&d, &b);
    d.free_pinned(ones.as_mut_ptr()).unwrap();
    d.free_pinned(back.as_mut_ptr()).unwrap();
}

/// An event is complete only when the copies before it are, on whichever queue.
#[test]
fn events_cover_copies() {
    succeeds(&child("transfers::child_events", &[("TFVK_EMULATE", "transfer")]));
}

#[test]
#[ignore = "run by events_cover_copies"]
fn child_events() {
    let d = open();
    let a = d.allocate(4 * N as u64).unwrap();
    for round in 0..20u32 {
        let data = bytes(&vec![round; N]);
        d.stream().upload(a, &data).unwrap();
        let mut back = vec![0u8; 4 * N];
        // SAFETY: `back` lives past the wait.
        unsafe { d.stream().download(back.as_mut_ptr(), a, 4 * N as u64) }.unwrap();
        let event = d.stream().record_event().unwrap();
        if round % 2 == 0 {
            event.wait().unwrap();
        }
        while !event.is_complete().unwrap() {
            std::thread::yield_now();
        }
        assert!(back == data, "round {round}");
    }
    d.deallocate(a).unwrap();
}
