//! Adapters: order, refusal, opening; and what happens in other processes: at exit, after a fork, with a cache on disk.

use tfvk_device::{AdapterKind, Device, adapters, visible_adapters};

use crate::common::*;

#[test]
fn listed_in_order_and_described() {
    let all = adapters().unwrap();
    assert!(all.is_sorted_by_key(|a| a.kind));
    for a in &all {
        assert!(!a.name.is_empty());
        if a.refused.is_none() {
            assert!(a.limits.max_invocations >= 128 && a.limits.push_constants >= 128, "{a}");
            assert!(a.features.subgroup_size >= 1 && a.limits.max_allocation > 0, "{a}");
        }
    }
    let mut refused = adapter();
    refused.refused = Some("it lacks everything".into());
    let e = Device::open(&refused).err().expect("it is refused");
    assert!(e.message.contains("it lacks everything"), "{e}");
}

#[test]
fn environment_selects() {
    succeeds(&child("adapters::child_software_hidden", &[("TFVK_ALLOW_SOFTWARE", "")]));
    succeeds(&child("adapters::child_none_visible", &[("TFVK_ALLOW_SOFTWARE", "1"), ("TFVK_VISIBLE_DEVICES", "-1")]));
    succeeds(&child("adapters::child_bad_index", &[("TFVK_ALLOW_SOFTWARE", "1"), ("TFVK_VISIBLE_DEVICES", "77")]));
    let no_driver = [("VK_DRIVER_FILES", "/nonexistent"), ("VK_ICD_FILENAMES", "/nonexistent")];
    // Wine hands what a program sets for its child to the child alone, not to the host's loader behind it: whoever runs the
    // tests under Wine runs this one with the variables set for Wine itself, as scripts/test-windows.sh does.
    if cfg!(windows) && std::env::var_os("WINEPREFIX").is_some() {
        eprintln!("under Wine child_no_driver is run apart");
    } else {
        succeeds(&child("adapters::child_no_driver", &no_driver));
    }
    succeeds(&child("adapters::child_bad_setting", &[("TFVK_LIMIT_GROUPS", "many")]));
}

#[test]
#[ignore = "a child process of environment_selects"]
fn child_software_hidden() {
    assert!(visible_adapters().unwrap().iter().all(|a| a.kind != AdapterKind::Software));
}

#[test]
#[ignore = "a child process of environment_selects"]
fn child_none_visible() {
    assert!(visible_adapters().unwrap().is_empty());
}

#[test]
#[ignore = "a child process of environment_selects"]
fn child_bad_index() {
    let e = visible_adapters().unwrap_err();
    assert!(e.message.contains("TFVK_VISIBLE_DEVICES") && e.message.contains("77"), "{e}");
}

#[test]
#[ignore = "a child process of environment_selects"]
fn child_no_driver() {
    match adapters() {
        Ok(all) => assert!(all.is_empty(), "no driver, but adapters"),
        Err(e) => assert!(e.message.contains("driver"), "{e}"),
    }
}

#[test]
#[ignore = "a child process of environment_selects"]
fn child_bad_setting() {
    let e = adapters().unwrap_err();
    assert!(e.message.contains("TFVK_LIMIT_GROUPS") && e.message.contains("many"), "{e}");
}

/// Under the clamps of a weak device everything here still works.
#[test]
fn a_weak_device_is_imitated() {
    let clamps = [
        ("TFVK_LIMIT_INVOCATIONS", "256"),
        ("TFVK_LIMIT_SHARED_MEMORY", "16k"),
        ("TFVK_LIMIT_GROUPS", "100"),
        ("TFVK_LIMIT_ALLOCATION", "1m"),
        ("TFVK_DISABLE", "int64,f64,f16,int16,subgroups,coopmat,transfer,timestamps"),
    ];
    succeeds(&child("adapters::child_weak", &clamps));
}

#[test]
#[ignore = "a child process of a_weak_device_is_imitated"]
fn child_weak() {
    let d = open();
    let (f, l) = (&d.adapter().features, &d.adapter().limits);
    assert!(!f.int64 && !f.f64 && !f.f16 && !f.int16 && !f.subgroup_ballot && f.coopmat_khr.is_none() && !f.transfer_queue);
    assert_eq!((l.max_invocations, l.shared_memory, l.max_groups, l.max_group_size[0]), (256, 16384, [100; 3], 256));
    assert!(d.allocate((1 << 20) + 1).unwrap_err().message.contains("1048576"));
    assert!(d.stream().timestamp().is_err());
    let n = 64 * 101 + 5;
    let a = vector(&d, n);
    write(&d, &a, &vec![2; n]);
    launch_affine(&d, &a, &a, 3, 1);
    assert_eq!(read(&d, &a), vec![7; n]);
}

/// As SwiftShader lacks it: an adapter without something required is listed, and refused in one sentence.
#[test]
fn an_adapter_that_lacks_what_is_required_is_refused() {
    let clamps = [("TFVK_ALLOW_SOFTWARE", "1"), ("TFVK_DISABLE", "storage16,storage8,int64,f64,f16,int16,int8")];
    succeeds(&child("adapters::child_refused", &clamps));
}

#[test]
#[ignore = "a child process of an_adapter_that_lacks_what_is_required_is_refused"]
fn child_refused() {
    let all = adapters().unwrap();
    assert!(!all.is_empty() && visible_adapters().unwrap().is_empty());
    for a in &all {
        let why = a.refused.as_deref().unwrap();
        let lacks = "lacks 16-bit storage (storageBuffer16BitAccess), 8-bit storage (storageBuffer8BitAccess)";
        assert!(why.starts_with(&a.name) && why.contains(lacks) && why.lines().count() == 1, "{why}");
        assert!(Device::open(a).err().unwrap().message.contains(lacks));
    }
}

/// The process ends with devices open, work in flight and a callback pending, in whatever order.
#[test]
fn exit_is_clean() {
    for _ in 0..3 {
        succeeds(&child("adapters::child_exit", &[]));
    }
}

#[test]
#[ignore = "a child process of exit_is_clean"]
fn child_exit() {
    let (d, e) = (open(), open());
    for d in [&d, &e] {
        let (a, b) = (vector(d, 1 << 16), vector(d, 1 << 16));
        write(d, &a, &vec![1; 1 << 16]);
        (0..200).for_each(|i| launch_affine(d, if i % 2 == 0 { &a } else { &b }, if i % 2 == 0 { &b } else { &a }, 1, 1));
        d.stream().on_complete(Box::new(|| {})).unwrap();
    }
    std::mem::forget((d, e));
}

#[cfg(unix)]
#[test]
fn after_a_fork_the_child_gets_errors() {
    succeeds(&child("adapters::child_fork", &[]));
}

#[cfg(unix)]
#[test]
#[ignore = "a child process of after_a_fork_the_child_gets_errors"]
fn child_fork() {
    let d = open();
    let a = vector(&d, 16);
    write(&d, &a, &[1; 16]);
    let event = d.stream().record_event().unwrap();
    let mut status = 0;
    // SAFETY: the child calls nothing that needs another thread, and leaves by `_exit`.
    unsafe {
        match libc::fork() {
            0 => {
                let errors = [d.allocate(4).is_err(), d.stream().upload(ptr(&a), &[1]).is_err(), event.wait().is_err()];
                libc::_exit(if errors == [true; 3] && adapters().is_ok() { 0 } else { 1 });
            }
            pid => assert_eq!(libc::waitpid(pid, &mut status, 0), pid),
        }
    }
    assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, "status {status}");
    launch_affine(&d, &a, &a, 1, 1);
    assert_eq!(read(&d, &a), [2; 16]);
}

/// A cache file that is damaged or of another device is ignored, and written anew.
#[test]
fn pipeline_cache_on_disk() {
    let dir = std::env::temp_dir().join(format!("tfvk-device-test-{}", std::process::id()));
    let set = [("TFVK_CACHE_DIR", dir.to_str().unwrap())];
    succeeds(&child("adapters::child_compiles", &set));
    let file = std::fs::read_dir(&dir).unwrap().next().expect("a cache file").unwrap().path();
    let good = std::fs::read(&file).unwrap();
    assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 1, "no temporary file is left");
    for (what, bytes) in [("cut", good[..good.len() / 2].to_vec()), ("empty", vec![]), ("rubbish", vec![0xa5; good.len()])] {
        std::fs::write(&file, bytes).unwrap();
        let output = child("adapters::child_compiles", &set);
        succeeds(&output);
        assert!(String::from_utf8_lossy(&output.stderr).contains("is ignored"), "{what}");
        assert!(std::fs::read(&file).unwrap().starts_with(b"TFVKPC01"), "{what}: written anew");
    }
    std::fs::remove_dir_all(dir).unwrap();
    succeeds(&child("adapters::child_compiles", &[("TFVK_CACHE_DIR", "")]));
}

#[test]
#[ignore = "a child process of pipeline_cache_on_disk"]
fn child_compiles() {
    let d = open();
    let a = vector(&d, 16);
    write(&d, &a, &[1; 16]);
    launch_affine(&d, &a, &a, 1, 1);
    assert_eq!(read(&d, &a), [2; 16]);
    assert_eq!(d.pipelines(), 1);
}
