//! Uploads, downloads, copies and fills of all sizes and alignments.

use tfvk_device::{DType, Device, DevicePtr, Tensor};

use crate::common::*;

fn pattern(n: usize, seed: usize) -> Vec<u8> {
    (0..n).map(|i| (i * 31 + i / 251 + seed * 7) as u8).collect()
}

fn read_bytes(d: &Device, ptr: DevicePtr, n: usize) -> Vec<u8> {
    d.stream().read(&Tensor::on_device(DType::U8, [n as i64].into(), ptr)).unwrap()
}

#[test]
fn odd_sizes_and_offsets() {
    let d = open();
    let whole = pattern(5000, 0);
    let (a, b) = (d.allocate(5000).unwrap(), d.allocate(5000).unwrap());
    for (i, (from, to, n)) in
        [(0, 0, 1), (1, 2, 3), (3, 1, 7), (5, 0, 4096), (17, 901, 1023), (0, 0, 5000)].into_iter().enumerate()
    {
        let (back, part) = (pattern(5000, i + 1), pattern(n, i + 50));
        d.stream().upload(a, &whole).unwrap();
        d.stream().upload(b, &back).unwrap();
        d.stream().upload(a.offset(from), &part).unwrap();
        d.stream().copy(b.offset(to), a.offset(from), n as u64).unwrap();
        let mut expected = back.clone();
        expected[to as usize..to as usize + n].copy_from_slice(&part);
        assert_eq!(read_bytes(&d, b, 5000), expected);
        assert_eq!(read_bytes(&d, b.offset(to), n), part);
    }
}

#[test]
fn fills_of_any_alignment() {
    let d = open();
    let a = d.allocate(64).unwrap();
    for start in 0..6u64 {
        for n in 0..14u64 {
            let before = pattern(64, n as usize);
            d.stream().upload(a, &before).unwrap();
            d.stream().fill(a.offset(start), n, 0xab).unwrap();
            let mut expected = before;
            expected[start as usize..(start + n) as usize].fill(0xab);
            assert_eq!(read_bytes(&d, a, 64), expected, "{n} from {start}");
        }
    }
    d.stream().fill_u32(a.offset(8), 16, 0x0102_0304).unwrap();
    assert_eq!(read_bytes(&d, a.offset(8), 16), 0x0102_0304u32.to_ne_bytes().repeat(4));
    assert!(d.stream().fill_u32(a.offset(2), 16, 0).is_err());
    assert!(d.stream().fill(a.offset(1), 1 << 20, 0).is_err(), "past the end");
}

/// More than the staging ring holds, both ways, and interleaved with work that reads it.
#[test]
fn larger_than_the_staging_ring() {
    let d = open();
    let n = (70 << 20) + 12_345;
    let data = pattern(n, 3);
    let a = d.allocate(n as u64).unwrap();
    d.stream().upload(a, &data).unwrap();
    let b = d.allocate(n as u64).unwrap();
    d.stream().copy(b, a, n as u64).unwrap();
    d.stream().fill(a, n as u64, 0).unwrap();
    assert!(read_bytes(&d, b, n) == data);
    assert!(read_bytes(&d, a, n).iter().all(|&x| x == 0));
}

/// The source of an upload may be overwritten as soon as the call returns.
#[test]
fn pageable_source_is_free_at_once() {
    let d = open();
    let a = vector(&d, 64);
    let out: Vec<Tensor> = (0..50).map(|_| vector(&d, 64)).collect();
    let mut host = vec![0u8; 256];
    for (i, o) in out.iter().enumerate() {
        host.fill(i as u8);
        d.stream().upload(ptr(&a), &host).unwrap();
        launch_affine(&d, &a, o, 1, 0);
        host.fill(0xff);
    }
    for (i, o) in out.iter().enumerate() {
        assert_eq!(read(&d, o), vec![i as u32 * 0x0101_0101; 64]);
    }
}

#[test]
fn pinned_memory_is_copied_directly() {
    let d = open();
    let n = 10_000usize;
    let pinned = d.allocate_pinned(n as u64).unwrap();
    assert_eq!(pinned as usize % 64, 0);
    // SAFETY: the allocation's bytes, which nothing else uses here.
    let host = unsafe { std::slice::from_raw_parts_mut(pinned, n) };
    let data = pattern(n, 9);
    host.copy_from_slice(&data);
    let a = d.allocate(n as u64).unwrap();
    d.stream().upload(a, host).unwrap();
    d.stream().record_event().unwrap().wait().unwrap();
    host.fill(0);
    // SAFETY: pinned memory that lives past the wait.
    unsafe { d.stream().download(pinned.add(3), a.offset(5), 500) }.unwrap();
    d.stream().record_event().unwrap().wait().unwrap();
    assert_eq!(host[3..503], data[5..505]);
    assert!(host[..3].iter().chain(&host[503..]).all(|&x| x == 0));
    assert!(std::sync::Arc::ptr_eq(&tfvk_device::owner_of(pinned as u64 + 17).unwrap(), &d.0));
    assert!(d.free_pinned(pinned.wrapping_add(1)).is_err());
    d.free_pinned(pinned).unwrap();
    assert!(tfvk_device::owner_of(pinned as u64).is_none());
}

/// Many downloads to pageable memory, each of what the launch before it left.
#[test]
fn downloads_see_the_state_at_their_call() {
    let d = open();
    let a = vector(&d, 16);
    write(&d, &a, &[0; 16]);
    let mut hosts = vec![[0u32; 16]; 300];
    for host in &mut hosts {
        launch_affine(&d, &a, &a, 1, 1);
        // SAFETY: `hosts` lives past the wait.
        unsafe { d.stream().download(host.as_mut_ptr().cast(), ptr(&a), 64) }.unwrap();
    }
    d.stream().record_event().unwrap().wait().unwrap();
    for (i, host) in hosts.iter().enumerate() {
        assert_eq!(*host, [i as u32 + 1; 16]);
    }
}

#[test]
fn overlaps_and_strangers_are_errors() {
    let d = open();
    let a = d.allocate(1000).unwrap();
    assert!(d.stream().copy(a.offset(10), a, 100).unwrap_err().message.contains("overlap"));
    d.stream().copy(a.offset(100), a, 100).unwrap();
    let host = [0u8; 8];
    let e = d.stream().upload(DevicePtr(host.as_ptr() as u64), &host).unwrap_err();
    assert!(e.message.contains("upload"), "{e}");
    assert!(d.stream().copy(a, DevicePtr(16), 8).is_err());
    d.stream().upload(a, &[]).unwrap();
}

#[test]
fn between_two_devices() {
    let (d, e) = (open(), open());
    let data = pattern(100_000, 1);
    let (a, b) = (d.allocate(100_000).unwrap(), e.allocate(100_000).unwrap());
    d.stream().upload(a, &data).unwrap();
    e.stream().copy(b, a, 100_000).unwrap();
    assert_eq!(read_bytes(&e, b, 100_000), data);
}
